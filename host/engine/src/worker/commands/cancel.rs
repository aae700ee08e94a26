//! `cancel`: requests the cancellation of an earlier command.

use segno_core::{command::FenceAct, id::PromiseId, invocation::CommandKind, value::Text};
use segno_guest::{Answer, Stop, commands::Cancel};

use super::{Committed, Completion, Fields, Rules, site::Site};

impl Rules for Cancel {
    fn kind(&self) -> CommandKind {
        CommandKind::Cancel
    }

    fn name(&self) -> Text {
        Text::default()
    }

    fn fields(&self, fields: &mut Fields) {
        fields.number("command", u64::from(self.command));
    }

    fn completion(&self, _: &Site<'_>) -> Completion {
        Completion::Commit(Committed::Nothing)
    }

    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop> {
        let command = self.command;
        if command >= site.index {
            let message = format!("`cancel({command})`: there is no such command yet");
            return Err(Stop::Contract(message));
        }
        Ok(Some(FenceAct::Cancel { id: site.promise_of(command) }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> Answer {
        Answer::Command(index)
    }
}
