//! `run`: a step that the guest computes itself, once. Its result is recorded.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{JournalAnswer, RunAnswer, StopReason, commands::RunCommand};

use super::{CommandFields, CommandRules, CompletionEvent, site::CommandContext};

impl CommandRules for RunCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Run
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Guest
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, execute: bool) -> JournalAnswer {
        JournalAnswer::Run(match execute {
            true => RunAnswer::Execute(index),
            false => RunAnswer::Recorded(index),
        })
    }
}
