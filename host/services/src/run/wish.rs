//! The requests of a deployment, in either family of the protocol: a command of V5 and later, or
//! the meaning of an entry of V1 to V3. An entry has no completion ids: its position in the journal
//! is its id.

use bytes::Bytes;
use prost::Message as _;
use segno_restate::{
    frame::Frame,
    immutable::{
        self, Command, Completion, EagerState, NotificationKind, NotificationResult,
        RequestedNotification,
    },
    mutable::{self, CancelTarget, Entry, EntryResult, PromiseCompletion},
    version::{ProtocolFamily, ProtocolVersion},
    wire::{self, OperationOutcome, StateKeys, ValueMessage, Void},
};

/// A request of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestedCommand {
    /// A command.
    Command(Command),
    /// A command that has answered itself.
    Answered(Command, NotificationResult),
    /// A finished run with its outcome.
    Ran(String, OperationOutcome),
    /// An awakeable at this position. Another party completes it.
    Awakeable(u32, String),
    /// The cancellation of an invocation.
    Cancel(CancelTarget),
    /// A request for the invocation id of the call at the first position. The second position is
    /// that of the request itself.
    CallId(u32, u32),
    /// A request that attaches to, or looks at, the invocation that the call at this position
    /// began.
    OfCall(Box<RequestedCommand>, u32),
    /// An SDK-specific entry, which is stored without interpretation.
    Custom(u16),
}

impl RequestedCommand {
    /// The request in a stored frame. `None` if the frame has no command. `index` is its position.
    pub(crate) fn of(frame: &Bytes, version: ProtocolVersion, index: u32) -> Option<Self> {
        let frame = Frame::from_bytes(frame)?;
        match version.family() {
            ProtocolFamily::Immutable => match immutable::Message::decode(&frame, version).ok()? {
                immutable::Message::Command(command) => Some(Self::Command(command)),
                _ => None,
            },
            ProtocolFamily::Mutable => match mutable::Message::decode(&frame, version).ok()? {
                mutable::Message::Entry(entry) => Some(Self::of_entry(entry, index)),
                _ => None,
            },
        }
    }

    /// The request of an entry. `index` is its position in the journal.
    pub(crate) fn of_entry(entry: Entry, index: u32) -> Self {
        let id = index;
        let command: Command = match entry {
            Entry::GetState(it) => return read(it, id),
            Entry::GetStateKeys(it) => return read_keys(it, id),
            Entry::SetState(it) => {
                let value = Some(ValueMessage { content: it.value });
                immutable::SetState { key: it.key, value, name: it.name }.into()
            }
            Entry::ClearState(it) => immutable::ClearState { key: it.key, name: it.name }.into(),
            Entry::ClearAllState(it) => immutable::ClearAllState { name: it.name }.into(),
            Entry::GetPromise(it) => {
                immutable::GetPromise { key: it.key, result_completion_id: id, name: it.name }
                    .into()
            }
            Entry::PeekPromise(it) => {
                immutable::PeekPromise { key: it.key, result_completion_id: id, name: it.name }
                    .into()
            }
            Entry::CompletePromise(it) => immutable::CompletePromise {
                key: it.key,
                completion: it.completion.map(|completion| match completion {
                    PromiseCompletion::Value(content) => {
                        Completion::Value(ValueMessage { content })
                    }
                    PromiseCompletion::Failure(failure) => Completion::Failure(failure),
                }),
                result_completion_id: id,
                name: it.name,
            }
            .into(),
            Entry::Sleep(it) => immutable::Sleep {
                wake_up_at_ms: it.wake_up_at_ms,
                result_completion_id: id,
                name: it.name,
            }
            .into(),
            Entry::Call(it) => immutable::Call {
                service_name: it.service_name,
                handler_name: it.handler_name,
                parameter: it.parameter,
                headers: it.headers,
                key: it.key,
                idempotency_key: it.idempotency_key,
                result_completion_id: id,
                name: it.name,
                ..immutable::Call::default()
            }
            .into(),
            Entry::OneWayCall(it) => immutable::OneWayCall {
                service_name: it.service_name,
                handler_name: it.handler_name,
                parameter: it.parameter,
                invoke_at_ms: it.invoke_at_ms,
                headers: it.headers,
                key: it.key,
                idempotency_key: it.idempotency_key,
                name: it.name,
                ..immutable::OneWayCall::default()
            }
            .into(),
            Entry::Awakeable(it) => return Self::Awakeable(id, it.name),
            Entry::CompleteAwakeable(it) => immutable::CompleteAwakeable {
                awakeable_id: it.id,
                result: it.result.and_then(outcome_of).map(Completion::from),
                name: it.name,
            }
            .into(),
            Entry::Run(it) => {
                let empty = OperationOutcome::Success(Bytes::new());
                return Self::Ran(it.name, it.result.and_then(outcome_of).unwrap_or(empty));
            }
            Entry::CancelInvocation(it) => {
                let nobody = CancelTarget::InvocationId(String::new());
                return Self::Cancel(it.target.unwrap_or(nobody));
            }
            Entry::GetCallInvocationId(it) => return Self::CallId(it.call_entry_index, id),
            Entry::AttachInvocation(it) => {
                let (target, call) = target(it.target);
                let attach =
                    immutable::AttachInvocation { target, result_completion_id: id, name: it.name };
                return of_call(attach.into(), call);
            }
            Entry::GetInvocationOutput(it) => {
                let (target, call) = target(it.target);
                let look = immutable::GetInvocationOutput {
                    target,
                    result_completion_id: id,
                    name: it.name,
                };
                return of_call(look.into(), call);
            }
            Entry::Input(it) => immutable::Input { name: it.name, ..Default::default() }.into(),
            Entry::Output(it) => {
                let result = it.result.and_then(outcome_of).map(immutable::OutputResult::from);
                immutable::Output { result, name: it.name }.into()
            }
            Entry::Custom(it) => return Self::Custom(it.number),
        };
        Self::Command(command)
    }

    /// The notifications that the request expects.
    pub(crate) fn wanted(&self) -> Vec<RequestedNotification> {
        match self {
            Self::Command(command) => command.wanted(),
            Self::OfCall(wish, _) => wish.wanted(),
            Self::Awakeable(id, _) => {
                vec![RequestedNotification { id: *id, kind: NotificationKind::Signal }]
            }
            Self::CallId(_, id) => {
                vec![RequestedNotification { id: *id, kind: NotificationKind::CallInvocationId }]
            }
            Self::Answered(..) | Self::Ran(..) | Self::Cancel(_) | Self::Custom(_) => Vec::new(),
        }
    }

    /// The position of the call that the request refers to.
    pub(crate) fn named_call(&self) -> Option<u32> {
        match self {
            Self::Cancel(CancelTarget::CallEntryIndex(place))
            | Self::CallId(place, _)
            | Self::OfCall(_, place) => Some(*place),
            _ => None,
        }
    }

    /// True for a call whose only notification is the id of the callee.
    pub(crate) fn is_one_way(&self) -> bool {
        matches!(self, Self::Command(Command::OneWayCall(_)))
    }

    /// True for a call with a result.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Command(Command::Call(_)))
    }
}

fn of_call(command: Command, call: Option<u32>) -> RequestedCommand {
    let wish = RequestedCommand::Command(command);
    match call {
        Some(call) => RequestedCommand::OfCall(Box::new(wish), call),
        None => wish,
    }
}

fn target(
    target: Option<mutable::InvocationTarget>,
) -> (Option<immutable::InvocationTarget>, Option<u32>) {
    use immutable::InvocationTarget as To;
    use mutable::InvocationTarget as From;
    match target {
        Some(From::InvocationId(id)) => (Some(To::InvocationId(id)), None),
        Some(From::CallEntryIndex(index)) => (None, Some(index)),
        Some(From::IdempotentRequest(it)) => (Some(To::IdempotentRequest(it)), None),
        Some(From::Workflow(it)) => (Some(To::Workflow(it)), None),
        None => (None, None),
    }
}

fn read(it: mutable::GetState, id: u32) -> RequestedCommand {
    let mutable::GetState { key, name, result } = it;
    let (eager, answer) = match result {
        None => {
            let lazy = immutable::GetLazyState { key, result_completion_id: id, name };
            return RequestedCommand::Command(lazy.into());
        }
        Some(EntryResult::Value(content)) => (
            EagerState::Value(ValueMessage { content: content.clone() }),
            NotificationResult::Value(content),
        ),
        Some(EntryResult::Empty(_) | EntryResult::Failure(_)) => {
            (EagerState::Void(Void {}), NotificationResult::Void)
        }
    };
    let eager = immutable::GetEagerState { key, result: Some(eager), name };
    RequestedCommand::Answered(eager.into(), answer)
}

fn read_keys(it: mutable::GetStateKeys, id: u32) -> RequestedCommand {
    let mutable::GetStateKeys { name, result } = it;
    let Some(result) = result else {
        let lazy = immutable::GetLazyStateKeys { result_completion_id: id, name };
        return RequestedCommand::Command(lazy.into());
    };
    let keys = match result {
        EntryResult::Value(bytes) => StateKeys::decode(bytes).unwrap_or_default(),
        EntryResult::Empty(_) | EntryResult::Failure(_) => StateKeys::default(),
    };
    let answer = NotificationResult::StateKeys(keys.keys.clone());
    let eager = immutable::GetEagerStateKeys { value: Some(keys), name };
    RequestedCommand::Answered(eager.into(), answer)
}

fn outcome_of(result: EntryResult) -> Option<OperationOutcome> {
    match result {
        EntryResult::Value(value) => Some(OperationOutcome::Success(value)),
        EntryResult::Failure(failure) => Some(OperationOutcome::Failure(failure)),
        EntryResult::Empty(_) => None,
    }
}

/// A result in the form of an entry.
pub(super) fn entry_result(result: &NotificationResult) -> EntryResult {
    match result {
        NotificationResult::Void => EntryResult::EMPTY,
        NotificationResult::Value(value) => EntryResult::Value(value.clone()),
        NotificationResult::Failure(failure) => EntryResult::Failure(failure.clone()),
        NotificationResult::InvocationId(id) => EntryResult::Value(id.clone().into_bytes().into()),
        NotificationResult::StateKeys(keys) => {
            EntryResult::Value(StateKeys { keys: keys.clone() }.encode_to_vec().into())
        }
    }
}

/// The result with which an open wait delivers a cancellation.
pub(super) fn cancelled() -> NotificationResult {
    NotificationResult::Failure(wire::Failure::new(409, "cancelled"))
}
