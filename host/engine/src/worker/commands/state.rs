//! The state of the execution's object. The host completes a read and records the result. A write
//! is stored with its record, and no event completes it.

use segno_core::{
    command::FenceOperation, id::PromiseId, invocation::CommandKind, object::StateWrite,
    value::Text,
};
use segno_guest::{
    JournalAnswer, StopReason,
    commands::{
        ClearAllStateCommand, ClearStateCommand, GetStateCommand, SetStateCommand,
        StateNamesCommand,
    },
};

use super::{CommandContext, CommandFields, CommandRules, CompletionEvent, StateReadTarget};
use crate::values::journals;

impl CommandRules for GetStateCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::GetState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::State(StateReadTarget::Value(self.name()))
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for StateNamesCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::StateKeys
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::State(StateReadTarget::Names)
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for SetStateCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::SetState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.payload("value", &self.value);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let entries = vec![(self.name(), Some(journals::payload(&self.value)))];
        Ok(Some(FenceOperation::State(StateWrite { clears: false, entries })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for ClearStateCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::ClearState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let entries = vec![(self.name(), None)];
        Ok(Some(FenceOperation::State(StateWrite { clears: false, entries })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for ClearAllStateCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::ClearAllState
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, _: &mut CommandFields) {}

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::State(StateWrite { clears: true, entries: Vec::new() })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
