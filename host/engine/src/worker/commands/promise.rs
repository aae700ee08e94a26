//! `promise`: a promise that is settled from outside the invocation.

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise as CorePromise,
    value::{Tags, Text, Value},
};
use segno_guest::{JournalAnswer, StopReason, commands::PromiseCommand};

use super::{
    CommandFields, CommandRules, CompletionEvent,
    site::{CommandContext, deadline},
};

impl CommandRules for PromiseCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Promise
    }

    fn name(&self) -> Text {
        self.name.as_deref().map(Text::from).unwrap_or_default()
    }

    fn fields(&self, fields: &mut CommandFields) {
        if let Some(timeout) = self.options.timeout_ms {
            fields.number("timeout_ms", timeout);
        }
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(id(self, site))
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::Create {
            new: CorePromise {
                id: id(self, site),
                param: Value::default(),
                tags: Tags::new(),
                timeout_at: deadline(self.options.timeout_ms, site.at),
            },
            request: None,
        }))
    }

    fn answer(&self, index: u32, promise: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Promise(index, promise.map(|id| id.as_str().to_owned()).unwrap_or_default())
    }
}

fn id(promise: &PromiseCommand, site: &CommandContext<'_>) -> PromiseId {
    match &promise.name {
        Some(name) => site.identity.id.named(name),
        None => site.promise(),
    }
}
