//! `settle`: the outcome of a promise.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{JournalAnswer, StopReason, commands::SettleCommand};

use super::{CommandFields, CommandRules, CommitResult, CompletionEvent, site::CommandContext};
use crate::values;

impl CommandRules for SettleCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Settle
    }

    fn name(&self) -> Text {
        Text::from(self.promise_id.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.outcome(&self.outcome);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::Nothing)
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let (verdict, value) = values::verdict(&self.outcome);
        let id = PromiseId::from(self.promise_id.as_str());
        Ok(Some(FenceOperation::Settle { id, verdict, value }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
