//! `settle`: the outcome of a promise.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{Answer, Stop, commands::Settle};

use super::{Committed, Completion, Fields, Rules, site::Site};
use crate::values;

impl Rules for Settle {
    fn kind(&self) -> CommandKind {
        CommandKind::Settle
    }

    fn name(&self) -> Text {
        Text::from(self.promise_id.as_str())
    }

    fn fields(&self, fields: &mut Fields) {
        fields.outcome(&self.outcome);
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Commit(Committed::Nothing)
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let (verdict, value) = values::verdict(&self.outcome);
        let id = PromiseId::from(self.promise_id.as_str());
        Ok(Some(FenceAct::Settle { id, verdict, value }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
