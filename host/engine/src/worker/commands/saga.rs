//! The commands of sagas: steps, which are calls and requests whose promises declare their
//! compensation; the compensation of a step; and the question if a step took effect.
//!
//! The settlement chain records pending and finished compensations as facts, from the tags and ids
//! of these promises.

use segno_core::{
    command::FenceAct,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use segno_guest::{
    Answer, SagaStep, Stop,
    commands::{AskAboutStep, StepCommand, Undo},
};

use super::{
    Completion, Fields, Rules,
    call::{self, invocation},
    site::{Identity, Site},
};

impl<C: Rules> Rules for StepCommand<C> {
    fn kind(&self) -> CommandKind {
        self.command.kind()
    }

    fn name(&self) -> Text {
        self.command.name()
    }

    fn fields(&self, fields: &mut Fields) {
        self.command.fields(fields);
        declare(&self.step, fields);
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        self.command.completion(site)
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(self.command.act(site)?.map(|act| match act {
            FenceAct::Create { new } => {
                FenceAct::Create { new: step(site.identity, new, &self.step) }
            }
            other => other,
        }))
    }

    fn answer(&self, index: u32, promise: Option<&PromiseId>, execute: bool) -> Answer {
        self.command.answer(index, promise, execute)
    }
}

impl Rules for Undo {
    fn kind(&self) -> CommandKind {
        self.call.kind()
    }

    fn name(&self) -> Text {
        self.call.name()
    }

    fn fields(&self, fields: &mut Fields) {
        self.call.fields(fields);
        fields.text("undoes", self.step.saga.as_bytes());
        fields.number("seq", u64::from(self.step.seq));
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Promise(site.identity.id.compensation(&self.step.saga, self.step.seq))
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let id = site.identity.id.compensation(&self.step.saga, self.step.seq);
        Ok(Some(FenceAct::Create { new: NewPromise { id, ..invocation(&self.call, site) } }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for AskAboutStep {
    fn kind(&self) -> CommandKind {
        CommandKind::Promise
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut Fields) {
        declare(&self.0, fields);
    }

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Promise(site.identity.id.verdict_on(&self.0.saga, self.0.seq))
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let new = NewPromise {
            id: site.identity.id.verdict_on(&self.0.saga, self.0.seq),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: Timestamp::NEVER,
        };
        // Only an operator's answer registers the compensation. A missing answer does not.
        let asked = SagaStep { compensate_unknown: false, ..self.0.clone() };
        Ok(Some(FenceAct::Create { new: step(site.identity, new, &asked) }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

/// The promise of a step.
fn step(identity: &Identity, mut promise: NewPromise, step: &SagaStep) -> NewPromise {
    let mut tag = |name: &str, value: String| promise.tags.insert(name.to_owned(), value);
    tag(tags::SAGA, step.saga.clone());
    tag(tags::SEQ, step.seq.to_string());
    tag(tags::COMPENSATE, call::target(identity, &step.compensate));
    if step.compensate_unknown {
        tag(tags::UNKNOWN, "compensate".to_owned());
    }
    promise
}

fn declare(step: &SagaStep, fields: &mut Fields) {
    fields
        .text("saga", step.saga.as_bytes())
        .number("seq", u64::from(step.seq))
        .text("compensate", step.compensate.as_bytes());
    if step.compensate_unknown {
        fields.text("unknown", "compensate");
    }
}
