//! `publish`: an event on a topic, which the commit of its record puts into the outbox.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{JournalAnswer, StopReason, commands::PublishCommand};

use super::{CommandFields, CommandRules, CommitResult, CompletionEvent, site::CommandContext};
use crate::values;

impl CommandRules for PublishCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Publish
    }

    fn name(&self) -> Text {
        Text::from(self.topic.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.payload("payload", &self.payload);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::Nothing)
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let payload = values::value(&self.payload);
        Ok(Some(FenceOperation::Publish { topic: self.name(), payload }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
