//! `cancel`: requests the cancellation of an earlier command.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{JournalAnswer, StopReason, commands::CancelCommand};

use super::{CommandFields, CommandRules, CommitResult, CompletionEvent, site::CommandContext};

impl CommandRules for CancelCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Cancel
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.number("command", u64::from(self.command));
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::Nothing)
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let command = self.command;
        if command >= site.index {
            let message = format!("`cancel({command})`: there is no such command yet");
            return Err(StopReason::Contract(message));
        }
        Ok(Some(FenceOperation::Cancel { id: site.promise_of(command) }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
