//! The journal of a workflow that is kept by its runtime. The guest's requests become commands of
//! the protocol, and notifications become events. No I/O.
//!
//! One command of the guest becomes one or several of the protocol: a time limit is a sleep beside
//! its call. [`CompletedPart`] says which part of a command a notification completes.
//!
//! **Time.** The protocol has no time. The journal needs it only if the guest asks. The time is
//! then read once and stored as the result of a run (`segno:time`), which is proposed immediately
//! and not awaited. The runtime stores it before everything that follows. The start time is stored
//! for every invocation. After a sleep, the time is the instant at which the sleep had to end.

mod commands;
mod events;
mod object_promises;
mod open;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use segno_core::{promise::RetryPolicy, time::Millis};
use segno_env::Clock;
use segno_guest::{HttpRequest, Outcome, StopReason};
use segno_restate::{
    ProtocolVersion,
    deployment::{AttemptError, DeploymentAttempt},
    immutable::{CANCEL_SIGNAL, Future, NotificationId, NotificationResult},
    wire::OperationOutcome as Told,
};

use self::open::{CompletedPart, PendingCommand, PendingCommandKind};
use super::{OfferedHandler, ServiceOffer, values};

/// The name of run entries that store the time.
const TIME: &str = "segno:time";
/// The prefix of run entries that store the id of a promise. The name of the promise follows.
const PROMISE: &str = "segno:promise/";

/// Compares a guest's commands with the journal of its runtime, and sends new ones.
pub(super) struct StreamJournal {
    pub(super) attempt: DeploymentAttempt,
    version: ProtocolVersion,
    offer: Arc<ServiceOffer>,
    handler: Arc<OfferedHandler>,
    clock: Arc<dyn Clock>,
    /// The printable id of the invocation.
    pub(super) invocation: String,
    /// The last known time, in milliseconds since the Unix epoch.
    at_ms: u64,
    /// True if that is the time of the current poll of the guest.
    is_timed: bool,
    /// The number of the guest's commands so far.
    commands: u32,
    open: BTreeMap<u32, PendingCommand>,
    /// The command and the part that each pending notification completes.
    parts: BTreeMap<NotificationId, (u32, CompletedPart)>,
    /// Outcomes that are known here, in the order of their commands.
    results: VecDeque<(u32, Outcome)>,
    /// The `run` whose closure is being executed: its command, completion id and name.
    running: Option<(u32, u32, String)>,
    /// Requests that are to be sent.
    requests: Vec<StepRequest>,
    /// Calls that ended here before the callee's id was known.
    abandoned: BTreeSet<u32>,
    /// Awakeables that were completed before the guest created them.
    early: BTreeMap<u32, NotificationResult>,
    /// True if the guest was notified of its cancellation.
    is_cancelled: bool,
    finished: Option<Outcome>,
    /// The error that stopped the guest.
    error: Option<AttemptError>,
}

/// A request that is to be sent, as a run entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepRequest {
    pub(super) completion_id: u32,
    pub(super) command: u32,
    pub(super) request: HttpRequest,
    pub(super) retry: RetryPolicy,
    /// The time limit of the attempt.
    pub(super) limit: Option<Millis>,
    /// The number of this attempt, from 1.
    pub(super) attempt: u32,
}

/// The wait set of a waiting workflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WorkflowWait {
    /// The workflow waits for one of these.
    For(Future),
    /// The workflow waits for nothing and would never continue.
    ForNothing,
}

impl StreamJournal {
    /// The journal of an attempt whose replayed entries were all received.
    pub(super) fn new(
        attempt: DeploymentAttempt,
        version: ProtocolVersion,
        offer: Arc<ServiceOffer>,
        handler: Arc<OfferedHandler>,
        clock: Arc<dyn Clock>,
        invocation: String,
    ) -> Self {
        Self {
            attempt,
            version,
            offer,
            handler,
            clock,
            invocation,
            at_ms: 0,
            is_timed: false,
            commands: 0,
            open: BTreeMap::new(),
            parts: BTreeMap::new(),
            results: VecDeque::new(),
            running: None,
            requests: Vec::new(),
            abandoned: BTreeSet::new(),
            early: BTreeMap::new(),
            is_cancelled: false,
            finished: None,
            error: None,
        }
    }

    /// The time at which the invocation began.
    ///
    /// # Errors
    /// The journal does not match.
    pub(super) fn begin(&mut self) -> Result<u64, AttemptError> {
        self.time()
    }

    /// The outcome that the guest returned. `None` if it has not ended.
    pub(super) fn finished(&self) -> Option<&Outcome> {
        self.finished.as_ref()
    }

    /// The error that stopped the guest, if the journal is the reason.
    pub(super) fn take_error(&mut self) -> Option<AttemptError> {
        self.error.take()
    }

    /// Takes the requests that are to be sent.
    pub(super) fn take_requests(&mut self) -> Vec<StepRequest> {
        std::mem::take(&mut self.requests)
    }

    /// True if this request is neither cancelled nor overdue.
    pub(super) fn is_wanted(&self, request: &StepRequest) -> bool {
        self.open.get(&request.command).is_some_and(|open| open.what == PendingCommandKind::Http)
    }

    /// Proposes the outcome of a request.
    ///
    /// # Errors
    /// The attempt is over.
    pub(super) fn propose(
        &mut self,
        completion_id: u32,
        outcome: &Outcome,
    ) -> Result<(), AttemptError> {
        self.attempt.propose_run(completion_id, values::told(outcome, self.version))
    }

    /// The wait set of the guest, when it waits.
    pub(super) fn waits(&self) -> WorkflowWait {
        let mut ids: Vec<NotificationId> = self
            .parts
            .iter()
            .filter(|(_, (command, part))| self.awaits(*command, *part))
            .map(|(id, _)| id.clone())
            .collect();
        if self.handler.takes_signals {
            let named = self.handler.signals.iter().cloned();
            ids.extend(named.map(NotificationId::NamedSignal));
        }
        // A workflow that takes signals without declaring their names may receive one while the
        // stream is open.
        if ids.is_empty() && !self.handler.takes_signals {
            return WorkflowWait::ForNothing;
        }
        // Delayed work begins even if the guest does not wait for it.
        let begins = self.parts.iter().filter(|(_, (command, part))| {
            let open = self.open.get(command);
            *part == CompletedPart::Begin
                && open.is_some_and(|open| open.is_forgotten && open.later.is_some())
        });
        ids.extend(begins.map(|(id, _)| id.clone()));
        if !self.is_cancelled || ids.is_empty() {
            ids.push(NotificationId::Signal(CANCEL_SIGNAL));
        }
        WorkflowWait::For(Future::first_of(ids))
    }

    fn awaits(&self, command: u32, part: CompletedPart) -> bool {
        match (part, self.open.get(&command)) {
            (CompletedPart::Callee, None) => self.abandoned.contains(&command),
            (_, None) => false,
            (_, Some(open)) if open.is_forgotten => false,
            (CompletedPart::Callee, Some(open)) => {
                open.is_cancelled || open.what == PendingCommandKind::Send
            }
            (CompletedPart::Result | CompletedPart::Deadline | CompletedPart::Begin, Some(_)) => {
                true
            }
        }
    }

    /// Cancels the calls that a finished workflow left open. Returns the notifications to wait for
    /// if the id of a callee is unknown. `None` if the outcome can be sent.
    ///
    /// # Errors
    /// The journal does not match.
    pub(super) fn leave(&mut self) -> Result<Option<Future>, AttemptError> {
        loop {
            let unknown: Vec<NotificationId> = self
                .attempt
                .open_calls()
                .iter()
                .filter(|call| call.invocation_id.is_none())
                .map(|call| NotificationId::Completion(call.invocation_id_completion_id))
                .collect();
            if unknown.is_empty() {
                break;
            }
            if self.attempt.next_notification()?.is_none() {
                return Ok(Some(Future::first_of(unknown)));
            }
        }
        let left: Vec<String> = self
            .attempt
            .open_calls()
            .iter()
            .filter_map(|call| call.invocation_id.clone())
            .collect();
        left.into_iter().try_for_each(|callee| self.attempt.cancel_invocation(callee))?;
        Ok(None)
    }

    /// The time of the current poll of the guest.
    fn time(&mut self) -> Result<u64, AttemptError> {
        if self.is_timed {
            return Ok(self.at_ms);
        }
        let now = self.clock_ms();
        if self.running.is_some() {
            // The result of the `run` is stored, so a replay does not read the time again.
            return Ok(now);
        }
        let kept = self.keep(TIME, now.to_string())?;
        let kept = std::str::from_utf8(&kept).ok().and_then(|text| text.parse().ok());
        self.at_ms = self.at_ms.max(kept.unwrap_or(0));
        self.is_timed = true;
        Ok(self.at_ms)
    }

    fn clock_ms(&self) -> u64 {
        u64::try_from(self.clock.now().0).unwrap_or(0).max(self.at_ms)
    }

    /// The value that the first attempt stored under this name. Stores `value` if this is the first
    /// attempt.
    fn keep(&mut self, name: &str, value: String) -> Result<Bytes, AttemptError> {
        let run = self.attempt.run(name)?;
        if !run.execute
            && let Some(Told::Success(kept)) = self.attempt.take_run(run.completion_id)
        {
            return Ok(kept);
        }
        let value = Bytes::from(value);
        self.attempt.propose_run(run.completion_id, Told::Success(value.clone()))?;
        Ok(value)
    }

    /// Stops the guest, and keeps the error.
    fn stopped(&mut self, error: AttemptError) -> StopReason {
        let stop = match &error {
            AttemptError::Divergence(_) => StopReason::Divergence,
            other => StopReason::Contract(other.to_string()),
        };
        self.error = Some(error);
        stop
    }
}

#[cfg(test)]
mod tests;
