//! Turns notifications of the runtime into events for the guest.

use segno_engine::values::code;
use segno_guest::{Completion, Event, Outcome, Signal};
use segno_restate::{
    deployment::AttemptError,
    immutable::{
        CANCEL_SIGNAL, FIRST_AWAKEABLE_SIGNAL, Notification, NotificationId, NotificationResult,
    },
};

use super::{
    StreamJournal,
    open::{CompletedPart, PendingCommand, PendingCommandKind},
};
use crate::values;

impl StreamJournal {
    /// The next event for the waiting guest. `None` if the guest has to wait for the runtime.
    ///
    /// Outcomes that are known here come first, so that the order is the same in every attempt:
    /// they become known at the same points of the journal.
    ///
    /// # Errors
    /// The journal says something else.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>, AttemptError> {
        loop {
            while let Some((command, outcome)) = self.results.pop_front() {
                if self.open.remove(&command).is_some_and(|open| !open.is_forgotten) {
                    return Ok(Some(Event::Completed(Completion { command, outcome })));
                }
            }
            let Some(notification) = self.attempt.next_notification()? else { return Ok(None) };
            if let Some(event) = self.taken(notification)? {
                return Ok(Some(event));
            }
        }
    }

    fn taken(&mut self, notification: Notification) -> Result<Option<Event>, AttemptError> {
        let Notification { id, result, .. } = notification;
        if let Some((command, part)) = self.parts.remove(&id) {
            return self.told(command, part, &id, result);
        }
        match id {
            NotificationId::Signal(CANCEL_SIGNAL) if !self.is_cancelled => {
                self.is_cancelled = true;
                self.is_timed = false;
                Ok(Some(Event::Cancelled))
            }
            NotificationId::NamedSignal(name) if self.handler.takes_signals => {
                let Outcome::Success(payload) = values::outcome(result) else {
                    // Signals of a guest carry values only.
                    tracing::warn!(
                        "the signal `{name}` carries a failure instead of a value, and was dropped"
                    );
                    return Ok(None);
                };
                self.is_timed = false;
                Ok(Some(Event::Signal(Signal { name, payload })))
            }
            NotificationId::Signal(index) if index >= FIRST_AWAKEABLE_SIGNAL => {
                self.early.insert(index, result);
                Ok(None)
            }
            // The result of an internal run entry, or one that the guest does not wait for.
            NotificationId::Completion(_)
            | NotificationId::Signal(_)
            | NotificationId::NamedSignal(_) => Ok(None),
        }
    }

    fn told(
        &mut self,
        command: u32,
        part: CompletedPart,
        id: &NotificationId,
        result: NotificationResult,
    ) -> Result<Option<Event>, AttemptError> {
        match part {
            CompletedPart::Callee => self.called(command, result),
            CompletedPart::Result => Ok(self.completed(command, id, result)),
            CompletedPart::Deadline => self.overdue(command, id),
            CompletedPart::Begin => {
                let work = self.open.get_mut(&command).and_then(|open| open.later.take());
                if let Some(work) = work {
                    self.woken(id);
                    self.begin_work(command, work)?;
                }
                Ok(None)
            }
        }
    }

    /// The runtime reported the invocation id of a callee.
    fn called(
        &mut self,
        command: u32,
        result: NotificationResult,
    ) -> Result<Option<Event>, AttemptError> {
        let NotificationResult::InvocationId(id) = result else { return Ok(None) };
        if self.abandoned.remove(&command) {
            self.attempt.cancel_invocation(id)?;
            return Ok(None);
        }
        let Some(open) = self.open.get_mut(&command) else { return Ok(None) };
        match &mut open.what {
            PendingCommandKind::Call { callee } => {
                *callee = Some(id.clone());
                if open.is_cancelled {
                    self.attempt.cancel_invocation(id)?;
                }
                Ok(None)
            }
            PendingCommandKind::Send => {
                let is_forgotten = open.is_forgotten;
                self.open.remove(&command);
                if is_forgotten {
                    return Ok(None);
                }
                self.is_timed = false;
                let outcome = values::text(&id);
                Ok(Some(Event::Completed(Completion { command, outcome })))
            }
            PendingCommandKind::Sleep
            | PendingCommandKind::Promise
            | PendingCommandKind::ObjectPromise
            | PendingCommandKind::Standing
            | PendingCommandKind::Settlement
            | PendingCommandKind::Http
            | PendingCommandKind::Run
            | PendingCommandKind::State
            | PendingCommandKind::Known => Ok(None),
        }
    }

    fn completed(
        &mut self,
        command: u32,
        id: &NotificationId,
        result: NotificationResult,
    ) -> Option<Event> {
        // A command that was cancelled here ignores its later completion.
        self.open.get(&command).filter(|open| open.what != PendingCommandKind::Known)?;
        let PendingCommand { what, is_step, is_cancelled, is_forgotten, .. } =
            self.open.remove(&command)?;
        if is_forgotten {
            return None;
        }
        match what {
            PendingCommandKind::Sleep => self.woken(id),
            _ => self.is_timed = false,
        }
        let mut outcome = match what {
            PendingCommandKind::Standing => values::standing(result),
            PendingCommandKind::Settlement => values::settled(result),
            _ => values::outcome(result),
        };
        if let Outcome::Failure(failure) = &mut outcome {
            match failure.code {
                409 if is_cancelled => failure.code = code::CANCELLED,
                // A step that reports this code itself knows its effect.
                code::TIMED_OUT if is_step => failure.code = code::REFUSED,
                _ => {}
            }
        }
        Some(Event::Completed(Completion { command, outcome }))
    }

    /// The time limit of a command has passed.
    fn overdue(
        &mut self,
        command: u32,
        id: &NotificationId,
    ) -> Result<Option<Event>, AttemptError> {
        let is_open = |open: &&PendingCommand| open.what != PendingCommandKind::Known;
        if self.open.get(&command).filter(is_open).is_none() {
            return Ok(None);
        }
        let open = self.open.remove(&command).expect("it is open");
        if !open.is_forgotten {
            self.woken(id);
        }
        match open.what {
            PendingCommandKind::Call { callee: Some(callee) } if !open.is_cancelled => {
                self.attempt.cancel_invocation(callee)?;
            }
            PendingCommandKind::Call { callee: None } if open.later.is_none() => {
                self.abandoned.insert(command);
            }
            _ => {}
        }
        if open.is_forgotten {
            return Ok(None);
        }
        let outcome = values::failed(code::TIMED_OUT, "timed out");
        Ok(Some(Event::Completed(Completion { command, outcome })))
    }

    /// Advances the guest's time to the instant at which a sleep had to end.
    fn woken(&mut self, id: &NotificationId) {
        if let NotificationId::Completion(id) = id
            && let Some(at_ms) = self.attempt.wake_up_at_ms(*id)
        {
            self.at_ms = self.at_ms.max(at_ms);
            self.is_timed = true;
        }
    }
}
