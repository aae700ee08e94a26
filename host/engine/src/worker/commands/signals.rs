//! Signals to other invocations, unread signals, and the end of a generation.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{
    Answer, Stop,
    commands::{ContinueAsNew, SignalInvocation, UnreadSignals},
};
use serde_json::json;

use super::{Committed, Completion, Fields, Rules, Site};
use crate::values;

impl Rules for SignalInvocation {
    fn kind(&self) -> CommandKind {
        CommandKind::SendSignal
    }

    fn name(&self) -> Text {
        Text::from(self.invocation.as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text("signal", self.name.as_str()).payload("payload", &self.payload);
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Commit(Committed::Nothing)
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(Some(FenceAct::Signal {
            invocation: PromiseId::from(self.invocation.as_str()),
            name: Text::from(self.name.as_str()),
            payload: values::value(&self.payload),
        }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for UnreadSignals {
    fn kind(&self) -> CommandKind {
        CommandKind::Unread
    }

    /// The number of unread signals, which the core adds up.
    fn name(&self) -> Text {
        Text::from(self.signals.len().to_string().as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.json("signals", &json!(self.signals));
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Record
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for ContinueAsNew {
    fn kind(&self) -> CommandKind {
        CommandKind::ContinueAsNew
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut Fields) {
        fields.payload("input", &self.input);
        if self.same_code {
            fields.json("same_code", &json!(true));
        }
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Record
    }

    /// No action in a fence: the command that ends the claim creates the next generation.
    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
