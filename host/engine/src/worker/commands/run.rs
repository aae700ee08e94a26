//! `run`: a step that the guest computes itself, once. Its result is recorded.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{Answer, RunAnswer, Stop, commands::Run};

use super::{Completion, Fields, Rules, site::Site};

impl Rules for Run {
    fn kind(&self) -> CommandKind {
        CommandKind::Run
    }

    fn name(&self) -> Text {
        Text::from(self.name.as_str())
    }

    fn fields(&self, _: &mut Fields) {}

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Guest
    }

    fn act(&self, _: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        Ok(None)
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, execute: bool) -> Answer {
        Answer::Run(match execute {
            true => RunAnswer::Execute(index),
            false => RunAnswer::Recorded(index),
        })
    }
}
