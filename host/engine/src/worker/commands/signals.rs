//! Signals to other invocations, unread signals, and the end of a generation.

use segno_core::{command::FenceOperation, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{
    JournalAnswer, StopReason,
    commands::{ContinueAsNewCommand, SendSignalCommand, UnreadCommand},
};
use serde_json::json;

use super::{CommandContext, CommandFields, CommandRules, CommitResult, CompletionEvent};
use crate::values;

impl CommandRules for SendSignalCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::SendSignal
    }

    fn name(&self) -> Text {
        Text::from(self.invocation.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.text("signal", self.name.as_str()).payload("payload", &self.payload);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::Nothing)
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::Signal {
            invocation: PromiseId::from(self.invocation.as_str()),
            name: Text::from(self.name.as_str()),
            payload: values::value(&self.payload),
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for UnreadCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Unread
    }

    /// The number of unread signals, which the core adds up.
    fn name(&self) -> Text {
        Text::from(self.signals.len().to_string().as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.json("signals", &json!(self.signals));
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for ContinueAsNewCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::ContinueAsNew
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.payload("input", &self.input);
        if self.same_code {
            fields.json("same_code", &json!(true));
        }
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Record
    }

    /// No action in a fence: the command that ends the claim creates the next generation.
    fn act(&self, _: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}
