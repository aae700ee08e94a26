//! The promises of the execution's object, by name. They belong to no execution: a command that
//! awaits or settles one creates it if it does not exist.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{
    JournalAnswer, StopReason,
    commands::{PeekObjectPromiseCommand, SettleObjectPromiseCommand, WaitObjectPromiseCommand},
};

use super::{
    CommandContext, CommandFields, CommandRules, CommitResult, CompletionEvent, StateReadTarget,
};
use crate::values;

impl CommandRules for WaitObjectPromiseCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::WaitObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(id(&self.name, site))
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::ObjectPromise { id: id(&self.name, site), settles: None }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for PeekObjectPromiseCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::PeekObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::State(StateReadTarget::Promise(id(&self.name, site)))
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for SettleObjectPromiseCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::SettleObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.outcome(&self.outcome);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::Settled)
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let settles = Some(values::verdict(&self.outcome));
        Ok(Some(FenceOperation::ObjectPromise { id: id(&self.name, site), settles }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

/// The id of the promise. The recorder refuses these commands in functions without an object.
fn id(name: &str, site: &CommandContext<'_>) -> PromiseId {
    site.identity.object.as_ref().map_or_else(|| site.promise(), |(object, _)| object.promise(name))
}
