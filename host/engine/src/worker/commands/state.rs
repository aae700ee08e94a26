//! The state of the execution's object. The host completes a read and records the result. A write
//! is stored with its record, and no event completes it.

use segno_core::{
    command::FenceAct, id::PromiseId, invocation::CommandKind, object::StateWrite, value::Text,
};
use segno_guest::{
    Answer, Stop,
    commands::{ClearAllState, ClearState, GetState, SetState, StateNames},
};

use super::{Completion, Fields, Rules, Site, StateRead};
use crate::values::journals;

impl Rules for GetState {
    fn kind(&self) -> CommandKind {
        CommandKind::GetState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::State(StateRead::Value(self.name()))
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for StateNames {
    fn kind(&self) -> CommandKind {
        CommandKind::StateKeys
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::State(StateRead::Names)
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for SetState {
    fn kind(&self) -> CommandKind {
        CommandKind::SetState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.payload("value", &self.value);
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Record
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let entries = vec![(self.name(), Some(journals::payload(&self.value)))];
        Ok(Some(FenceAct::State(StateWrite { clears: false, entries })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for ClearState {
    fn kind(&self) -> CommandKind {
        CommandKind::ClearState
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Record
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let entries = vec![(self.name(), None)];
        Ok(Some(FenceAct::State(StateWrite { clears: false, entries })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for ClearAllState {
    fn kind(&self) -> CommandKind {
        CommandKind::ClearAllState
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Record
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(Some(FenceAct::State(StateWrite { clears: true, entries: Vec::new() })))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
