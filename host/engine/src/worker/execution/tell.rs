//! Turns settled promises into events for the guest.

use segno_core::{promise::Promise, tags};
use segno_guest::{Completion, Event, Signal};

use super::LiveExecution;
use crate::{claim::ExecutionError, notifier::SettlementNotice, values};

impl LiveExecution {
    /// Queues the event for this promise's settlement, if the promise has settled.
    pub(super) fn tell(&mut self, promise: &Promise) {
        let Some(settlement) = promise.settlement() else { return };
        if self.next_signal().is_some_and(|next| next == *promise.id()) {
            let value = settlement.value.clone().unwrap_or_default();
            let name = value.headers.get(tags::SIGNAL_HEADER).cloned().unwrap_or_default();
            self.signals += 1;
            self.signal_unread = true;
            let mut value = value;
            value.headers.remove(tags::SIGNAL_HEADER);
            self.ready.push_back(Event::Signal(Signal { name, payload: values::payload(&value) }));
            return;
        }
        // A settlement may be notified twice. Only the first event finds its command open.
        let commands = self.recorder().open().commands_of(promise.id());
        for command in commands {
            let Some(outcome) = values::first_told(promise) else { continue };
            self.ready.push_back(Event::Completed(Completion { command, outcome }));
        }
    }

    /// Reads the next signal after watching it, since it may have been settled before.
    pub(super) async fn look_for_signal(&mut self) -> Result<(), ExecutionError> {
        while std::mem::take(&mut self.signal_unread)
            && let Some(next) = self.next_signal()
        {
            self.watch.add(&next);
            self.tell_settled(SettlementNotice::unread(next)).await?;
        }
        Ok(())
    }

    /// True if this invocation created the promise, or if it belongs to the invocation's object.
    pub(super) fn is_own(&self, promise: &Promise) -> bool {
        promise.spec.made_by.as_ref() == Some(self.promise.id())
            || self.recorder().is_of_object(promise.id())
    }

    /// Queues the events of this promise and of all others that have settled by now.
    pub(super) async fn tell_settled(
        &mut self,
        first: SettlementNotice,
    ) -> Result<(), ExecutionError> {
        let mut notices = vec![first];
        while let Some(next) = self.watch.try_next() {
            notices.push(next);
        }
        for row in self.worker.settled(notices).await? {
            self.tell(&row.promise);
        }
        Ok(())
    }

    pub(super) async fn drain_settled(&mut self) -> Result<(), ExecutionError> {
        match self.watch.try_next() {
            Some(settled) => self.tell_settled(settled).await,
            None => Ok(()),
        }
    }
}
