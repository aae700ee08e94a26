//! The promises of the execution's object, by name. They belong to no execution: a command that
//! awaits or settles one creates it if it does not exist.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{
    Answer, Stop,
    commands::{PeekObjectPromise, SettleObjectPromise, WaitObjectPromise},
};

use super::{Committed, Completion, Fields, Rules, Site, StateRead};
use crate::values;

impl Rules for WaitObjectPromise {
    fn kind(&self) -> CommandKind {
        CommandKind::WaitObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::Promise(id(&self.name, site))
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(Some(FenceAct::ObjectPromise { id: id(&self.name, site), settles: None }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for PeekObjectPromise {
    fn kind(&self) -> CommandKind {
        CommandKind::PeekObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, site: &Site<'_>) -> Completion {
        Completion::State(StateRead::Promise(id(&self.name, site)))
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

impl Rules for SettleObjectPromise {
    fn kind(&self) -> CommandKind {
        CommandKind::SettleObjectPromise
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.outcome(&self.outcome);
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Commit(Committed::Settled)
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let settles = Some(values::verdict(&self.outcome));
        Ok(Some(FenceAct::ObjectPromise { id: id(&self.name, site), settles }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}

/// The id of the promise. The recorder refuses these commands in functions without an object.
fn id(name: &str, site: &Site<'_>) -> PromiseId {
    site.identity.object.as_ref().map_or_else(|| site.promise(), |(object, _)| object.promise(name))
}
