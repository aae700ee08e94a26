//! Outcomes of calls that ended on this host. The guest receives such an outcome before it is
//! stored; one commit stores it with the commands that follow. Nothing leaves before that commit. If
//! it is refused, this instance is dropped, and the journal is replayed.

use segno_guest::{Completion, Event};

use super::LiveExecution;
use crate::{
    claim::{ExecutionError, LocalOutcome, LocalOutcomes},
    held_timers::HeldTimer,
    values,
};

impl LiveExecution {
    /// Takes outcomes of calls from now on, if the guest may receive them before they are stored.
    pub(super) fn take_outcomes(&mut self) {
        let takes = self.outcomes.is_none() && self.receives_unstored();
        if takes && self.recorder().open().has_calls() {
            self.outcomes = Some(LocalOutcomes::of(&self.worker.callers, self.promise.id()));
        }
    }

    /// Delivers the outcome of a call to the guest, and adds it to the batch. An outcome that the
    /// guest no longer waits for is left to the called task.
    pub(super) async fn take_outcome(
        &mut self,
        outcome: LocalOutcome,
    ) -> Result<(), ExecutionError> {
        let LocalOutcome { promise, fulfillment, stored } = outcome;
        let told = values::first_told(&promise);
        let command = self.first_command_of(promise.id());
        let (Some(command), Some(told)) = (command, told) else { return Ok(()) };
        if !self.is_own(&promise) {
            return Ok(());
        }
        let (now, event) = (self.worker.now(), Completion { command, outcome: told });
        let admitted = self.recorder().admit(Event::Completed(event), now);
        let Some(event) = admitted else { return Ok(()) };
        self.watch.ignore(promise.id());
        self.recorder().end_call(command, fulfillment);
        self.ending.push(stored);
        self.resume_with(event).await
    }

    /// Tells the called tasks that the outcomes of the last batch are stored.
    pub(super) fn outcomes_stored(&mut self) {
        self.held.drain(..).for_each(HeldTimer::stored);
        for stored in self.ending.drain(..) {
            // A called task that gave up waiting stored the outcome itself.
            let _ = stored.send(());
        }
    }
}
