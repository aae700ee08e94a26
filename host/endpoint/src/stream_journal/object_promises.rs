//! The promises of the guest's object, by name. A runtime keeps promises for workflows, and for no
//! other object.

use segno_engine::values::code;
use segno_guest::commands::{
    PeekObjectPromiseCommand, SettleObjectPromiseCommand, WaitObjectPromiseCommand,
};
use segno_restate::deployment::AttemptError;

use super::{
    StreamJournal,
    open::{CommandStart, PendingCommandKind},
};
use crate::values;

impl StreamJournal {
    pub(super) fn wait_object_promise(
        &mut self,
        index: u32,
        WaitObjectPromiseCommand { name }: WaitObjectPromiseCommand,
    ) -> Result<CommandStart, AttemptError> {
        if !self.handler.has_promises {
            return Ok(self.no_promises(&name));
        }
        let id = self.attempt.promise(name, "")?;
        Ok(self.awaited(id, index, PendingCommandKind::ObjectPromise))
    }

    pub(super) fn peek_object_promise(
        &mut self,
        index: u32,
        PeekObjectPromiseCommand { name }: PeekObjectPromiseCommand,
    ) -> Result<CommandStart, AttemptError> {
        if !self.handler.has_promises {
            return Ok(self.no_promises(&name));
        }
        let id = self.attempt.peek_promise(name, "")?;
        Ok(self.awaited(id, index, PendingCommandKind::Standing))
    }

    pub(super) fn settle_object_promise(
        &mut self,
        index: u32,
        SettleObjectPromiseCommand { name, outcome }: SettleObjectPromiseCommand,
    ) -> Result<CommandStart, AttemptError> {
        if !self.handler.has_promises {
            return Ok(self.no_promises(&name));
        }
        let outcome = values::told(&outcome, self.version);
        let id = self.attempt.complete_promise(name, outcome, "")?;
        Ok(self.awaited(id, index, PendingCommandKind::Settlement))
    }

    fn no_promises(&self, name: &str) -> CommandStart {
        let object = &self.handler.service;
        let message = format!(
            "the object `{object}` has no promise `{name}`: a runtime of services keeps promises of workflows alone. \
             Mark the function that waits for it as the one that runs once a key (`#[run]`), or make a promise of the \
             execution and keep its id in the state"
        );
        CommandStart::Known(values::failed(code::REFUSED, message))
    }
}
