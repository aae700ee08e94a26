//! The commands of sagas: steps, which are calls and requests whose promises declare their
//! compensation; the compensation of a step; and the question if a step took effect.
//!
//! The settlement chain records pending and finished compensations as facts, from the tags and ids
//! of these promises.

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use segno_guest::{
    JournalAnswer, SagaStep, StopReason,
    commands::{AskAboutStepCommand, StepCommand, UndoCommand},
};

use super::{
    CommandFields, CommandRules, CompletionEvent,
    call::{self, invocation},
    site::{CommandContext, InvocationFacts},
};

impl<C: CommandRules> CommandRules for StepCommand<C> {
    fn kind(&self) -> CommandKind {
        self.command.kind()
    }

    fn name(&self) -> Text {
        self.command.name()
    }

    fn fields(&self, fields: &mut CommandFields) {
        self.command.fields(fields);
        declare(&self.step, fields);
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        self.command.completion(site)
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(self.command.act(site)?.map(|act| match act {
            FenceOperation::Create { new, .. } => {
                FenceOperation::Create { new: step(site.identity, new, &self.step), request: None }
            }
            other => other,
        }))
    }

    fn answer(&self, index: u32, promise: Option<&PromiseId>, execute: bool) -> JournalAnswer {
        self.command.answer(index, promise, execute)
    }
}

impl CommandRules for UndoCommand {
    fn kind(&self) -> CommandKind {
        self.call.kind()
    }

    fn name(&self) -> Text {
        self.call.name()
    }

    fn fields(&self, fields: &mut CommandFields) {
        self.call.fields(fields);
        fields.text("undoes", self.step.saga.as_bytes());
        fields.number("seq", u64::from(self.step.seq));
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(site.identity.id.compensation(&self.step.saga, self.step.seq))
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let id = site.identity.id.compensation(&self.step.saga, self.step.seq);
        Ok(Some(FenceOperation::Create {
            new: NewPromise { id, ..invocation(&self.call, site) },
            request: None,
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for AskAboutStepCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Promise
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut CommandFields) {
        declare(&self.0, fields);
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(site.identity.id.verdict_on(&self.0.saga, self.0.seq))
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let new = NewPromise {
            id: site.identity.id.verdict_on(&self.0.saga, self.0.seq),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        // Only an operator's answer registers the compensation. A missing answer does not.
        let asked = SagaStep { compensate_unknown: false, ..self.0.clone() };
        Ok(Some(FenceOperation::Create { new: step(site.identity, new, &asked), request: None }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

/// The promise of a step.
fn step(identity: &InvocationFacts, mut promise: NewPromise, step: &SagaStep) -> NewPromise {
    let mut tag = |name: &str, value: String| promise.tags.insert(name.to_owned(), value);
    tag(tags::SAGA, step.saga.clone());
    tag(tags::SEQ, step.seq.to_string());
    tag(tags::COMPENSATE, call::target(identity, &step.compensate));
    if step.compensate_unknown {
        tag(tags::UNKNOWN, "compensate".to_owned());
    }
    promise
}

fn declare(step: &SagaStep, fields: &mut CommandFields) {
    fields
        .text("saga", step.saga.as_bytes())
        .number("seq", u64::from(step.seq))
        .text("compensate", step.compensate.as_bytes());
    if step.compensate_unknown {
        fields.text("unknown", "compensate");
    }
}
