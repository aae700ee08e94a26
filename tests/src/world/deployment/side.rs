//! The deployment's side of an attempt, of either family of the protocol, with the commands of
//! handlers.

use std::collections::BTreeSet;

use bytes::Bytes;
use segno_restate::{
    ProtocolViolation,
    deployment::{DeploymentAttempt, StateRead},
    id::{AwakeableId, AwakeableKind},
    immutable::{
        CANCEL_SIGNAL, Call, Combinator, ErrorMessage, Future as Wait, NotificationId,
        NotificationResult, OneWayCall,
    },
    mutable::{self, entry::PromiseCompletion},
    version::{ProtocolFamily, ProtocolVersion},
    wire::OperationOutcome,
};

use super::entry_attempt::EntryAttempt;

/// The deployment's side of an attempt.
pub(super) enum Side {
    /// V5 to V7.
    Commands(Box<DeploymentAttempt>),
    /// V1 to V3.
    Entries(Box<EntryAttempt>),
}

type Asked<T> = Result<T, ErrorMessage>;

/// Runs the same code on both variants.
macro_rules! both {
    ($side:expr, $attempt:ident => $what:expr) => {
        match $side {
            Side::Commands($attempt) => $what,
            Side::Entries($attempt) => $what,
        }
    };
}

impl Side {
    /// Creates an attempt in this version.
    pub(super) fn new(version: ProtocolVersion) -> Self {
        match version.family() {
            ProtocolFamily::Immutable => Self::Commands(Box::new(DeploymentAttempt::new(version))),
            ProtocolFamily::Mutable => Self::Entries(Box::new(EntryAttempt::new(version))),
        }
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// A [`ProtocolViolation`]; the attempt is then over.
    pub(super) fn receive(&mut self, frame: &[u8]) -> Result<(), ProtocolViolation> {
        both!(self, attempt => attempt.receive(frame))
    }

    /// Marks the end of the request's body.
    pub(super) fn end_of_input(&mut self) {
        match self {
            Self::Commands(attempt) => drop(attempt.end_of_input()),
            Self::Entries(attempt) => attempt.end_of_input(),
        }
    }

    /// True if the request's body has ended.
    pub(super) fn input_ended(&self) -> bool {
        both!(self, attempt => attempt.input_ended())
    }

    /// True if the handler can run.
    pub(super) fn is_ready(&self) -> bool {
        both!(self, attempt => attempt.is_ready())
    }

    /// True if the last frame was written.
    pub(super) fn is_over(&self) -> bool {
        both!(self, attempt => attempt.is_over())
    }

    /// Takes the frames to send.
    pub(super) fn take_output(&mut self) -> Bytes {
        both!(self, attempt => attempt.take_output())
    }

    /// Ends the attempt with an error.
    pub(super) fn fail(&mut self, error: ErrorMessage) {
        both!(self, attempt => attempt.fail(error));
    }

    /// Id of the invocation.
    pub(super) fn id(&self) -> String {
        let id = match self {
            Self::Commands(attempt) => &attempt.start().id,
            Self::Entries(attempt) => attempt.id(),
        };
        String::from_utf8_lossy(id).into_owned()
    }

    /// Input of the invocation.
    pub(super) fn input(&self) -> Bytes {
        match self {
            Self::Commands(attempt) => attempt.input().value.clone().unwrap_or_default().content,
            Self::Entries(attempt) => attempt.input().clone(),
        }
    }

    /// Takes the next notification for the handler.
    pub(super) fn next_told(&mut self) -> Asked<Option<(NotificationId, NotificationResult)>> {
        match self {
            Self::Commands(attempt) => {
                let told = attempt.next_notification().map_err(|error| error.to_message())?;
                Ok(told.map(|told| (told.id, told.result)))
            }
            Self::Entries(attempt) => Ok(attempt.next_told()),
        }
    }

    /// Suspends the attempt until one of `waits` or all of `all` complete, or the invocation is
    /// cancelled.
    pub(super) fn suspend(
        &mut self,
        waits: &BTreeSet<NotificationId>,
        all: &BTreeSet<NotificationId>,
    ) -> Asked<()> {
        match self {
            Self::Commands(attempt) => {
                let mut wait = Wait::of(Combinator::FirstCompleted);
                waits.clone().into_iter().for_each(|id| wait.push(id));
                wait.push(NotificationId::Signal(CANCEL_SIGNAL));
                if !all.is_empty() {
                    wait.nested.push(Wait::all_of(all.clone()));
                }
                attempt.suspend(wait).map_err(|error| error.to_message())
            }
            Self::Entries(attempt) => {
                let index = |id: &NotificationId| match id {
                    NotificationId::Completion(index) => Some(*index),
                    NotificationId::Signal(_) | NotificationId::NamedSignal(_) => None,
                };
                attempt.suspend(waits.iter().filter_map(index).collect())
            }
        }
    }

    /// Ends the invocation.
    pub(super) fn finish(&mut self, outcome: OperationOutcome) -> Asked<()> {
        match self {
            Self::Commands(attempt) => attempt.finish(outcome).map_err(|error| error.to_message()),
            Self::Entries(attempt) => attempt.finish(outcome),
        }
    }

    /// Issues a run. Returns the id of its completion. Calls `outcome` if the run must be executed.
    pub(super) fn run(
        &mut self,
        name: &str,
        outcome: impl FnOnce() -> OperationOutcome,
    ) -> Asked<NotificationId> {
        let completion = match self {
            Self::Commands(attempt) => {
                let run = attempt.run(name).map_err(|error| error.to_message())?;
                if run.execute {
                    let proposed = attempt.propose_run(run.completion_id, outcome());
                    proposed.map_err(|error| error.to_message())?;
                }
                run.completion_id
            }
            Self::Entries(attempt) => {
                let run = attempt.run(name)?;
                if run.execute {
                    attempt.propose_run(name, outcome());
                }
                run.completion_id
            }
        };
        Ok(NotificationId::Completion(completion))
    }

    /// Begins a run whose outcome is proposed later. Returns the id of its completion, and true if
    /// the run must be executed.
    pub(super) fn begin_run(&mut self, name: &str) -> Asked<(NotificationId, bool)> {
        let run = match self {
            Self::Commands(attempt) => attempt.run(name).map_err(|error| error.to_message())?,
            Self::Entries(attempt) => attempt.run(name)?,
        };
        Ok((NotificationId::Completion(run.completion_id), run.execute))
    }

    /// Proposes the outcome of a run that has begun.
    pub(super) fn propose_run(
        &mut self,
        name: &str,
        id: &NotificationId,
        outcome: OperationOutcome,
    ) -> Asked<()> {
        match (self, id) {
            (Self::Commands(attempt), NotificationId::Completion(id)) => {
                attempt.propose_run(*id, outcome).map_err(|error| error.to_message())
            }
            (Self::Commands(_), _) => Ok(()),
            (Self::Entries(attempt), _) => {
                attempt.propose_run(name, outcome);
                Ok(())
            }
        }
    }

    /// Issues a run that is never executed.
    pub(super) fn run_undone(&mut self, name: &str) -> Asked<NotificationId> {
        let Self::Commands(attempt) = self else { panic!("it is one of entries") };
        let run = attempt.run(name).map_err(|error| error.to_message())?;
        Ok(NotificationId::Completion(run.completion_id))
    }

    /// Issues a sleep. Returns the id of its completion.
    pub(super) fn sleep(&mut self, wake_up_at_ms: u64) -> Asked<NotificationId> {
        let completion = match self {
            Self::Commands(attempt) => {
                attempt.sleep(wake_up_at_ms, "").map_err(|error| error.to_message())?
            }
            Self::Entries(attempt) => {
                attempt.ask(mutable::Sleep { wake_up_at_ms, ..mutable::Sleep::default() })?
            }
        };
        Ok(NotificationId::Completion(completion))
    }

    /// Issues a call of V5 to V7. Returns the id of its result.
    pub(super) fn ask_for(&mut self, call: Call) -> Asked<NotificationId> {
        let Self::Commands(attempt) = self else { panic!("it is one of entries") };
        let asked = attempt.call(call).map_err(|error| error.to_message())?;
        Ok(NotificationId::Completion(asked.result))
    }

    /// Writes an entry of V1 to V3. Returns its index.
    pub(super) fn enter(&mut self, entry: mutable::Entry) -> Asked<u32> {
        let Self::Entries(attempt) = self else { panic!("it is one of commands") };
        attempt.ask(entry)
    }

    /// Issues a call of this service, key and handler. Returns the id of its result.
    pub(super) fn call(&mut self, callee: [String; 3], parameter: Bytes) -> Asked<NotificationId> {
        let [service_name, key, handler_name] = callee;
        let completion = match self {
            Self::Commands(attempt) => {
                let call = Call { service_name, key, handler_name, parameter, ..Call::default() };
                attempt.call(call).map_err(|error| error.to_message())?.result
            }
            Self::Entries(attempt) => {
                let rest = mutable::Call::default();
                attempt.ask(mutable::Call { service_name, key, handler_name, parameter, ..rest })?
            }
        };
        Ok(NotificationId::Completion(completion))
    }

    /// Issues a call without awaiting its result. From V5 on, returns the id of the notification
    /// with the callee's invocation id.
    pub(super) fn send(
        &mut self,
        callee: [String; 3],
        parameter: Bytes,
    ) -> Asked<Option<NotificationId>> {
        let [service_name, key, handler_name] = callee;
        match self {
            Self::Commands(attempt) => {
                let rest = OneWayCall::default();
                let call = OneWayCall { service_name, key, handler_name, parameter, ..rest };
                let begun = attempt.send(call).map_err(|error| error.to_message())?;
                Ok(Some(NotificationId::Completion(begun)))
            }
            Self::Entries(attempt) => {
                let rest = mutable::OneWayCall::default();
                let call =
                    mutable::OneWayCall { service_name, key, handler_name, parameter, ..rest };
                attempt.ask(call).map(|_| None)
            }
        }
    }

    /// Reads a key of the state.
    pub(super) fn state(&mut self, key: &'static str) -> Asked<StateRead> {
        match self {
            Self::Commands(attempt) => attempt.state(key, "").map_err(|error| error.to_message()),
            Self::Entries(attempt) => attempt.state(key),
        }
    }

    /// Writes a key of the state.
    pub(super) fn set_state(&mut self, key: &'static str, content: Vec<u8>) -> Asked<()> {
        match self {
            Self::Commands(attempt) => {
                attempt.set_state(key, content, "").map_err(|error| error.to_message())
            }
            Self::Entries(attempt) => attempt.set_state(key, content),
        }
    }

    /// Begins to wait for a promise of the workflow. Returns the id of its completion.
    pub(super) fn promise(&mut self, key: &str) -> Asked<NotificationId> {
        let completion = match self {
            Self::Commands(attempt) => {
                attempt.promise(key, "").map_err(|error| error.to_message())?
            }
            Self::Entries(attempt) => {
                let key = key.to_owned();
                attempt.ask(mutable::GetPromise { key, ..mutable::GetPromise::default() })?
            }
        };
        Ok(NotificationId::Completion(completion))
    }

    /// Completes a promise of the workflow. Returns the id of the completion.
    pub(super) fn complete_promise(&mut self, key: &str, value: Bytes) -> Asked<NotificationId> {
        let completion = match self {
            Self::Commands(attempt) => {
                let asked = attempt.complete_promise(key, OperationOutcome::Success(value), "");
                asked.map_err(|error| error.to_message())?
            }
            Self::Entries(attempt) => {
                let completion = Some(PromiseCompletion::Value(value));
                let rest = mutable::CompletePromise::default();
                attempt.ask(mutable::CompletePromise { key: key.to_owned(), completion, ..rest })?
            }
        };
        Ok(NotificationId::Completion(completion))
    }

    /// Creates an awakeable. Returns its id, and the id of the notification that completes it.
    pub(super) fn awakeable(&mut self) -> Asked<(String, NotificationId)> {
        match self {
            Self::Commands(attempt) => {
                let made = attempt.awakeable().map_err(|error| error.to_message())?;
                Ok((made.id, NotificationId::Signal(made.signal)))
            }
            Self::Entries(attempt) => {
                let index = attempt.ask(mutable::Awakeable::default())?;
                let (kind, invocation) = (AwakeableKind::Entry, attempt.id().clone());
                let id = AwakeableId { kind, invocation, index };
                Ok((id.to_string(), NotificationId::Completion(index)))
            }
        }
    }

    /// Completes an awakeable.
    pub(super) fn complete_awakeable(&mut self, id: &str, value: Bytes) -> Asked<()> {
        match self {
            Self::Commands(attempt) => {
                let asked = attempt.complete_awakeable(id, OperationOutcome::Success(value), "");
                asked.map_err(|error| error.to_message())
            }
            Self::Entries(attempt) => {
                let (id, result) = (id.to_owned(), Some(mutable::EntryResult::Value(value)));
                let name = String::new();
                attempt.ask(mutable::CompleteAwakeable { id, name, result }).map(drop)
            }
        }
    }
}
