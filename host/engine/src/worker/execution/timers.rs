//! Timers that end while their workflow is on this host. The guest receives the end of the timer
//! before it is stored; one commit settles the timer and stores the commands that follow. Nothing
//! leaves before that commit. If it is refused, this instance is dropped, and the journal is
//! replayed.

use segno_core::id::PromiseId;
use segno_guest::{Completion, Event, Outcome, Payload};

use super::LiveExecution;
use crate::{claim::ExecutionError, held_timers::HeldTimer, worker::commands::CompletionEvent};

impl LiveExecution {
    /// Holds the first timer that ends within the time that this execution stays, if the guest may
    /// receive its end before it is stored.
    pub(super) fn first_timer(&self) -> Option<HeldTimer> {
        let soon = self.worker.now() + self.worker.host.config.hot_wait;
        let first = {
            let recorder = self.recorder();
            let timers = recorder.open().iter().filter_map(|open| match &open.completion {
                CompletionEvent::Timer(id, due) if *due <= soon => Some((*due, id.clone())),
                _ => None,
            });
            timers.min()
        };
        let (due, id) = first.filter(|_| self.receives_unstored())?;
        self.worker.host.held_timers.hold(id, due, self.gather())
    }

    /// Delivers the end of a timer to the guest, and adds it to the batch.
    pub(super) async fn take_timer(&mut self, mut held: HeldTimer) -> Result<(), ExecutionError> {
        let Some(command) = self.first_command_of(&held.id) else { return Ok(()) };
        let outcome = Outcome::Success(Payload::Json("null".to_owned()));
        let (now, event) = (self.worker.now(), Completion { command, outcome });
        let admitted = self.recorder().admit(Event::Completed(event), now);
        let Some(event) = admitted else { return Ok(()) };
        self.watch.ignore(&held.id);
        self.recorder().end_timer(command, held.id.clone());
        held.delivered();
        self.held.push(held);
        self.resume_with(event).await
    }

    /// The first open command that this promise completes.
    pub(super) fn first_command_of(&self, id: &PromiseId) -> Option<u32> {
        self.recorder().open().commands_of(id).first().copied()
    }
}
