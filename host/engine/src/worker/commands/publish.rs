//! `publish`: an event on a topic, which the commit of its record puts into the outbox.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{Answer, Stop, commands::Publish};

use super::{Committed, Completion, Fields, Rules, site::Site};
use crate::values;

impl Rules for Publish {
    fn kind(&self) -> CommandKind {
        CommandKind::Publish
    }

    fn name(&self) -> Text {
        Text::from(self.topic.as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.payload("payload", &self.payload);
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Commit(Committed::Nothing)
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let payload = values::value(&self.payload);
        Ok(Some(FenceAct::Publish { topic: self.name(), payload }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
