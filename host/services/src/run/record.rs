//! Turns commands of services into records and the actions of their transactions, and adds them to
//! the journal.

use bytes::Bytes;
use segno_core::{
    command::FenceOperation,
    id::{CommandIndex, ObjectId, PromiseId},
    invocation::CommandKind,
    object::StateWrite,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::{Tags, Text, Value},
};
use segno_engine::values::{self, journals};
use segno_restate::{
    immutable::{
        CANCEL_SIGNAL, Command, Completion, EagerState, NotificationId, NotificationKind,
        NotificationResult, SendSignal, SignalKey, SignalResult,
    },
    mutable::CancelTarget,
    wire::OperationOutcome,
};

use super::{
    InvocationStop, ServiceRun,
    callee::{self, CallParameters},
    journal::CommandRecord,
    live::LiveAttempt,
    recording_error::RecordingError,
    wish::RequestedCommand,
};
use crate::deployments::{Services, outcome, signals, state_names};

macro_rules! parameters {
    ($call:expr, $begins_at:expr) => {
        CallParameters {
            service: &$call.service_name,
            handler: &$call.handler_name,
            key: &$call.key,
            parameter: &$call.parameter,
            headers: &$call.headers,
            idempotency_key: $call.idempotency_key.as_deref(),
            scope: callee::scope($call.scope.as_deref())?,
            limit_key: $call.limit_key.as_deref(),
            begins_at: $begins_at,
        }
    };
}

/// The invocation whose commands are recorded.
pub(super) struct RecordingContext<'a> {
    pub id: &'a PromiseId,
    /// The object or the workflow of the handler. `None` for a plain service.
    pub object: Option<&'a ObjectId>,
    /// The registered services.
    pub services: &'a Services,
}

/// The follow-up action that a command needs after its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// No action: its promise settles, or no event completes it.
    Nothing,
    /// Read the state under this name.
    ReadState(Text),
    /// Read the names of all state.
    ReadNames,
    /// Read the promise, and report its current state.
    Peek(PromiseId),
    /// Check that the promise exists, and if it has settled already.
    Awaits(PromiseId),
    /// Report if this command was the first to settle the promise.
    Settled(PromiseId),
    /// Check if this command created the callee, or if it existed before.
    Called(PromiseId),
    /// Report the id of the created callee as the result.
    Sent(PromiseId),
    /// No read: the command has answered itself.
    Answered(NotificationResult),
}

impl ServiceRun {
    /// Adds a command to the journal, with its actions, for the next commit.
    pub(super) async fn append(
        &mut self,
        live: &mut LiveAttempt,
        wish: RequestedCommand,
        frame: Bytes,
    ) -> Result<(), InvocationStop> {
        // The callee of a one-way call is known after its commit.
        if wish.named_call().is_some_and(|place| self.journal.callee(place).is_none()) {
            self.committed(live).await?;
        }
        let index = self.journal.next_index();
        let callee = |place| self.journal.callee(place).cloned();
        let recorded = self.site().record(&wish, index, callee).await;
        let (recorded, then) = match recorded {
            Ok(recorded) => recorded,
            Err(refused) => {
                self.committed(live).await?;
                return Err(refused.into());
            }
        };
        let now = self.session.now();
        recorded.awaits.iter().for_each(|id| self.watch.add(id));
        let (index, mut told) = self.journal.command(wish, frame, recorded, now);
        live.tell.append(&mut told);
        match then {
            FollowUp::Answered(answer) => self.journal.answered(index, &answer, now),
            FollowUp::Nothing => {
                let open = self.journal.open().find(|(of, _)| *of == index);
                let awaits = open.and_then(|(_, open)| open.awaits.clone());
                live.then.extend(awaits.map(|id| (index, FollowUp::Awaits(id))));
            }
            then => live.then.push((index, then)),
        }
        Ok(())
    }

    /// Answers commands that an earlier attempt committed and did not answer.
    pub(super) async fn reissue_unanswered(&mut self) -> Result<(), InvocationStop> {
        let unanswered = self.journal.open().filter(|(_, open)| {
            open.awaits.is_none()
                && !matches!(open.kind, NotificationKind::Run | NotificationKind::Signal)
        });
        let unanswered: Vec<_> =
            unanswered.map(|(index, open)| (index, open.wish.clone())).collect();
        let mut thens = Vec::new();
        for (index, wish) in unanswered {
            let callee = |place| self.journal.callee(place).cloned();
            let (recorded, then) = self.site().record(&wish, index, callee).await?;
            self.journal.act_again(index, recorded.acts);
            thens.push((index, then));
        }
        self.commit(thens).await.map(drop)
    }

    fn site(&self) -> RecordingContext<'_> {
        RecordingContext {
            id: &self.id,
            object: self.handler.object.as_ref(),
            services: &self.services,
        }
    }
}

impl RecordingContext<'_> {
    /// The record of a command with its actions, and its follow-up action. `callee` returns the
    /// invocation that the call at a position began.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub(super) async fn record(
        &self,
        wish: &RequestedCommand,
        index: CommandIndex,
        callee: impl Fn(u32) -> Option<PromiseId>,
    ) -> Result<(CommandRecord, FollowUp), RecordingError> {
        let called = |place: u32| {
            callee(place).ok_or_else(|| {
                RecordingError::Invalid(format!("the entry {place} has called no invocation"))
            })
        };
        match wish {
            RequestedCommand::Command(command) => self.command(command, index).await,
            RequestedCommand::Answered(command, answer) => {
                let (recorded, _) = self.command(command, index).await?;
                Ok((recorded, FollowUp::Answered(answer.clone())))
            }
            RequestedCommand::Ran(name, outcome) => {
                let answer = NotificationResult::from(outcome.clone());
                of(CommandKind::Run, name, Vec::new(), FollowUp::Answered(answer))
            }
            RequestedCommand::Awakeable(_, name) => {
                of(CommandKind::Promise, name, Vec::new(), FollowUp::Nothing)
            }
            RequestedCommand::Cancel(CancelTarget::InvocationId(id)) => {
                let act = FenceOperation::CancelLoose { id: PromiseId::from(id.as_str()) };
                of(CommandKind::Signal, id, vec![act], FollowUp::Nothing)
            }
            RequestedCommand::Cancel(CancelTarget::CallEntryIndex(place)) => {
                let id = called(*place)?;
                let act = FenceOperation::CancelLoose { id: id.clone() };
                of(CommandKind::Signal, id.as_str(), vec![act], FollowUp::Nothing)
            }
            RequestedCommand::CallId(place, _) => {
                let id = called(*place)?;
                of(CommandKind::Peek, id.as_str(), Vec::new(), FollowUp::Sent(id.clone()))
            }
            RequestedCommand::OfCall(wish, place) => {
                let id = called(*place)?;
                match **wish {
                    RequestedCommand::Command(Command::GetInvocationOutput(_)) => {
                        of(CommandKind::Peek, id.as_str(), Vec::new(), FollowUp::Peek(id.clone()))
                    }
                    _ => Ok(attached(id)),
                }
            }
            RequestedCommand::Custom(number) => {
                let name = format!("0x{number:04x}");
                of(CommandKind::Signal, &name, Vec::new(), FollowUp::Nothing)
            }
        }
    }

    async fn command(
        &self,
        command: &Command,
        index: CommandIndex,
    ) -> Result<(CommandRecord, FollowUp), RecordingError> {
        let writes = |kind, name: &str, write| {
            of(kind, name, vec![FenceOperation::State(write)], FollowUp::Nothing)
        };
        match command {
            Command::GetLazyState(it) => {
                let name = self.state_name(&it.key)?;
                of(CommandKind::GetState, &name, Vec::new(), FollowUp::ReadState(name.clone()))
            }
            Command::GetLazyStateKeys(_) => {
                of(CommandKind::StateKeys, "", Vec::new(), FollowUp::ReadNames)
            }
            Command::GetEagerState(it) => {
                let answer = match &it.result {
                    Some(EagerState::Value(value)) => {
                        NotificationResult::Value(value.content.clone())
                    }
                    _ => NotificationResult::Void,
                };
                let name = self.state_name(&it.key)?;
                of(CommandKind::GetState, &name, Vec::new(), FollowUp::Answered(answer))
            }
            Command::GetEagerStateKeys(it) => {
                let keys = it.value.clone().unwrap_or_default().keys;
                let answer = NotificationResult::StateKeys(keys);
                of(CommandKind::StateKeys, "", Vec::new(), FollowUp::Answered(answer))
            }
            Command::SetState(it) => {
                let name = self.state_name(&it.key)?;
                let value = it.value.clone().unwrap_or_default().content;
                let value = journals::payload(&outcome::payload(&value));
                let entries = vec![(name.clone(), Some(value))];
                writes(CommandKind::SetState, &name, StateWrite { entries, clears: false })
            }
            Command::ClearState(it) => {
                let name = self.state_name(&it.key)?;
                let entries = vec![(name.clone(), None)];
                writes(CommandKind::ClearState, &name, StateWrite { entries, clears: false })
            }
            Command::ClearAllState(_) => {
                let write = StateWrite { entries: Vec::new(), clears: true };
                writes(CommandKind::ClearAllState, "", write)
            }
            Command::GetPromise(it) => {
                let id = self.named_promise(&it.key)?;
                let acts = vec![FenceOperation::ObjectPromise { id: id.clone(), settles: None }];
                let (kind, name) = (CommandKind::WaitObjectPromise, Text::from(it.key.as_str()));
                Ok((CommandRecord { kind, name, awaits: Some(id), acts }, FollowUp::Nothing))
            }
            Command::PeekPromise(it) => {
                let id = self.named_promise(&it.key)?;
                of(CommandKind::PeekObjectPromise, &it.key, Vec::new(), FollowUp::Peek(id))
            }
            Command::CompletePromise(it) => {
                let id = self.named_promise(&it.key)?;
                let settles = Some(settlement(it.completion.as_ref()));
                let acts = vec![FenceOperation::ObjectPromise { id: id.clone(), settles }];
                of(CommandKind::SettleObjectPromise, &it.key, acts, FollowUp::Settled(id))
            }
            Command::Sleep(it) => {
                let until = i64::try_from(it.wake_up_at_ms).unwrap_or(i64::MAX);
                let id = self.id.command(index);
                let new = NewPromise {
                    id: id.clone(),
                    param: Value::default(),
                    tags: Tags::from([(tags::TIMER.to_owned(), "true".to_owned())]),
                    timeout_at: Timestamp(until).min(Timestamp::NEVER),
                };
                let acts = vec![FenceOperation::Create { new, request: None }];
                let (name, awaits) = (Text::from(it.name.as_str()), Some(id));
                Ok((
                    CommandRecord { kind: CommandKind::Sleep, name, awaits, acts },
                    FollowUp::Nothing,
                ))
            }
            Command::Call(it) => {
                let (recorded, id) =
                    parameters!(it, None).record(self.services, self.id, index).await?;
                let awaits = Some(id.clone());
                Ok((CommandRecord { awaits, ..recorded }, FollowUp::Called(id)))
            }
            Command::OneWayCall(it) => {
                let begins_at = i64::try_from(it.invoke_at_ms).ok().filter(|at| *at > 0);
                let call = parameters!(it, begins_at.map(Timestamp));
                let (recorded, id) = call.record(self.services, self.id, index).await?;
                let recorded = CommandRecord { kind: CommandKind::Send, ..recorded };
                Ok((recorded, FollowUp::Sent(id)))
            }
            Command::SendSignal(it) => {
                let act = signalled(it);
                let name = it.target_invocation_id.as_str();
                of(CommandKind::Signal, name, vec![act], FollowUp::Nothing)
            }
            Command::CompleteAwakeable(it) => {
                let (invocation, index) = signals::awakeable(&it.awakeable_id)?;
                let result = it.result.clone().map(OperationOutcome::from);
                let (carries, payload) = signals::carried(result.as_ref());
                let name = signals::name(&NotificationId::Signal(index), carries).into();
                let act = FenceOperation::Signal { invocation, name, payload };
                of(CommandKind::Signal, &it.awakeable_id, vec![act], FollowUp::Nothing)
            }
            Command::Run(it) => of(CommandKind::Run, &it.name, Vec::new(), FollowUp::Nothing),
            Command::AttachInvocation(it) => {
                Ok(attached(callee::of_target(self.services, it.target.as_ref())?))
            }
            Command::GetInvocationOutput(it) => {
                let id = callee::of_target(self.services, it.target.as_ref())?;
                of(CommandKind::Peek, id.as_str(), Vec::new(), FollowUp::Peek(id.clone()))
            }
            Command::Input(_) | Command::Output(_) | Command::Custom(_) => {
                Err(RecordingError::Invalid(format!(
                    "a command of type 0x{:04x} is not taken here",
                    command.number()
                )))
            }
        }
    }

    fn named_promise(&self, name: &str) -> Result<PromiseId, RecordingError> {
        let object = self.object.ok_or_else(|| {
            RecordingError::Invalid("only handlers of workflows have promises".to_owned())
        })?;
        Ok(object.promise(name))
    }

    fn state_name(&self, key: &[u8]) -> Result<Text, RecordingError> {
        if self.object.is_none() {
            let message = "only handlers of objects and workflows have state".to_owned();
            return Err(RecordingError::Invalid(message));
        }
        state_names::name(key)
            .ok_or_else(|| RecordingError::Invalid("a key of state is no UTF-8 text".to_owned()))
    }
}

/// A record without a promise.
fn of(
    kind: CommandKind,
    name: &str,
    acts: Vec<FenceOperation>,
    then: FollowUp,
) -> Result<(CommandRecord, FollowUp), RecordingError> {
    Ok((CommandRecord { kind, name: Text::from(name), awaits: None, acts }, then))
}

/// A wait for another invocation's result.
fn attached(id: PromiseId) -> (CommandRecord, FollowUp) {
    let (name, awaits) = (Text::from(id.as_str()), Some(id.clone()));
    (
        CommandRecord { kind: CommandKind::Attach, name, awaits, acts: Vec::new() },
        FollowUp::Awaits(id),
    )
}

fn signalled(it: &SendSignal) -> FenceOperation {
    let invocation = PromiseId::from(it.target_invocation_id.as_str());
    let id = match &it.signal {
        Some(SignalKey::Index(CANCEL_SIGNAL)) => {
            return FenceOperation::CancelLoose { id: invocation };
        }
        Some(SignalKey::Index(index)) => NotificationId::Signal(*index),
        Some(SignalKey::Name(name)) => NotificationId::NamedSignal(name.clone()),
        None => NotificationId::NamedSignal(String::new()),
    };
    let result = match it.result.clone() {
        Some(SignalResult::Value(value)) => Some(OperationOutcome::Success(value.content)),
        Some(SignalResult::Failure(failure)) => Some(OperationOutcome::Failure(failure)),
        Some(SignalResult::Void(_)) | None => None,
    };
    let (carries, payload) = signals::carried(result.as_ref());
    FenceOperation::Signal { invocation, name: signals::name(&id, carries).into(), payload }
}

fn settlement(completion: Option<&Completion>) -> (segno_core::promise::Verdict, Value) {
    let outcome = match completion.cloned().map(OperationOutcome::from) {
        Some(outcome) => outcome::guest(&outcome),
        None => journals::null(),
    };
    values::verdict(&outcome)
}
