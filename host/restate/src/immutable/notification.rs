//! Notifications: results of commands, and signals. All share one message layout.
//!
//! ```text
//! 1 completion id | 2 signal index | 3 signal name      the id
//! 4 void | 5 value | 6 failure | 16 invocation id | 17 state keys      the result
//! ```

use std::fmt;

use bytes::Bytes;
use prost::{Message, Oneof};

use super::command::SignalResult;
use crate::{
    operation::kinds,
    wire::{Failure, OperationOutcome, StateKeys, ValueMessage, Void},
};

/// The signal that requests a cancellation.
pub const CANCEL_SIGNAL: u32 = 1;
/// The first signal index for awakeables; lower ones are reserved by the protocol.
pub const FIRST_AWAKEABLE_SIGNAL: u32 = 17;

/// A result or signal delivered to a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The kind of command that it answers, or a signal.
    pub kind: NotificationKind,
    /// The completion id or signal.
    pub id: NotificationId,
    /// Payload of the notification.
    pub result: NotificationResult,
}

/// Identifies a notification; a wait is a set of these ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotificationId {
    /// The command with this completion id.
    Completion(u32),
    /// The signal with this index.
    Signal(u32),
    /// The next signal with this name.
    NamedSignal(String),
}

impl fmt::Display for NotificationId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completion(id) => write!(out, "completion {id}"),
            Self::Signal(index) => write!(out, "signal {index}"),
            Self::NamedSignal(name) => write!(out, "signal `{name}`"),
        }
    }
}

/// Payload of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NotificationResult {
    /// No payload.
    Void,
    Value(Bytes),
    Failure(Failure),
    /// The id of a started invocation.
    InvocationId(String),
    /// The keys of the whole state.
    StateKeys(Vec<Bytes>),
}

/// Kind of a notification's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// No payload.
    Void,
    Value,
    Failure,
    /// The id of a started invocation.
    InvocationId,
    /// The keys of the whole state.
    StateKeys,
}

impl fmt::Display for ResultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Void => "void",
            Self::Value => "value",
            Self::Failure => "failure",
            Self::InvocationId => "invocation id",
            Self::StateKeys => "state keys",
        })
    }
}

impl NotificationResult {
    /// Returns the kind of the payload.
    pub fn kind(&self) -> ResultKind {
        match self {
            Self::Void => ResultKind::Void,
            Self::Value(_) => ResultKind::Value,
            Self::Failure(_) => ResultKind::Failure,
            Self::InvocationId(_) => ResultKind::InvocationId,
            Self::StateKeys(_) => ResultKind::StateKeys,
        }
    }
}

impl From<OperationOutcome> for NotificationResult {
    fn from(outcome: OperationOutcome) -> Self {
        match outcome {
            OperationOutcome::Success(value) => Self::Value(value),
            OperationOutcome::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<SignalResult> for NotificationResult {
    fn from(result: SignalResult) -> Self {
        match result {
            SignalResult::Void(Void {}) => Self::Void,
            SignalResult::Value(value) => Self::Value(value.content),
            SignalResult::Failure(failure) => Self::Failure(failure),
        }
    }
}

macro_rules! notifications {
    ($($(#[$about:meta])* $kind:ident = $number:literal, $name:literal, [$($result:ident)*];)*) => {
        kinds! {
            /// Kind of a notification: the command kind that it answers, or a signal.
            pub enum NotificationKind { $($(#[$about])* $kind = $number, $name;)* }
        }

        impl NotificationKind {
            /// Kinds of payloads that it may carry.
            pub const fn allowed(self) -> &'static [ResultKind] {
                match self {
                    $(Self::$kind => &[$(ResultKind::$result,)*],)*
                }
            }
        }
    };
}

notifications! {
    /// Answers a read of a state key.
    LazyState = 0x8002, "GetLazyState completion", [Void Value];
    /// Answers a read of the state's keys.
    LazyStateKeys = 0x8006, "GetLazyStateKeys completion", [StateKeys];
    /// Answers a wait for a promise.
    GetPromise = 0x8009, "GetPromise completion", [Value Failure];
    /// Answers a read of a promise.
    PeekPromise = 0x800A, "PeekPromise completion", [Void Value Failure];
    /// Answers the completion of a promise.
    CompletePromise = 0x800B, "CompletePromise completion", [Void Failure];
    /// Ends a sleep.
    Sleep = 0x800C, "Sleep completion", [Void];
    /// Result of a call.
    Call = 0x800D, "Call completion", [Value Failure];
    /// Invocation id of the callee, for both kinds of calls.
    CallInvocationId = 0x800E, "Call invocation id", [InvocationId];
    /// Outcome of a run.
    Run = 0x8011, "Run completion", [Value Failure];
    /// Answers a wait for an invocation.
    AttachInvocation = 0x8012, "AttachInvocation completion", [Value Failure];
    /// Answers a read of an invocation's result.
    GetInvocationOutput = 0x8013, "GetInvocationOutput completion", [Void Value Failure];
    Signal = 0xFBFF, "Signal", [Void Value Failure];
}

impl Notification {
    /// Creates the result of a command.
    pub fn completion(kind: NotificationKind, id: u32, result: NotificationResult) -> Self {
        Self { kind, id: NotificationId::Completion(id), result }
    }

    /// Creates the result of a run from its proposed outcome.
    pub fn run(id: u32, outcome: OperationOutcome) -> Self {
        Self::completion(NotificationKind::Run, id, outcome.into())
    }

    /// Creates a signal by index.
    pub fn signal(index: u32, result: NotificationResult) -> Self {
        Self { kind: NotificationKind::Signal, id: NotificationId::Signal(index), result }
    }

    /// Creates a signal by name.
    pub fn named_signal(name: impl Into<String>, result: NotificationResult) -> Self {
        let id = NotificationId::NamedSignal(name.into());
        Self { kind: NotificationKind::Signal, id, result }
    }

    /// Creates the signal that requests a cancellation.
    pub fn cancel() -> Self {
        Self::signal(CANCEL_SIGNAL, NotificationResult::Void)
    }

    /// Returns true if the payload is a failure.
    pub fn is_failure(&self) -> bool {
        matches!(self.result, NotificationResult::Failure(_))
    }

    /// Returns the violated rule of its kind, as a clause; `None` if it is valid.
    pub(crate) fn fault(&self) -> Option<String> {
        let signal = self.kind == NotificationKind::Signal;
        match self.id {
            NotificationId::Completion(_) if signal => Some("has a completion id".into()),
            NotificationId::Completion(0) => Some("has the completion id 0".into()),
            NotificationId::Completion(_) => None,
            NotificationId::Signal(0) => Some("has the index 0".into()),
            NotificationId::Signal(_) | NotificationId::NamedSignal(_) if signal => None,
            NotificationId::Signal(_) | NotificationId::NamedSignal(_) => {
                Some("names a signal".into())
            }
        }
        .or_else(|| {
            let carried = self.result.kind();
            (!self.kind.allowed().contains(&carried)).then(|| format!("must not carry a {carried}"))
        })
    }

    pub(crate) fn decode(kind: NotificationKind, payload: Bytes) -> Result<Self, String> {
        let template = NotificationTemplate::decode(payload)
            .map_err(|error| format!("cannot be decoded: {error}"))?;
        let id = match template.id {
            Some(TemplateId::Completion(id)) => NotificationId::Completion(id),
            Some(TemplateId::Signal(index)) => NotificationId::Signal(index),
            Some(TemplateId::Name(name)) => NotificationId::NamedSignal(name),
            None => return Err("has no id".into()),
        };
        let result = match template.result {
            Some(TemplateResult::Void(Void {})) => NotificationResult::Void,
            Some(TemplateResult::Value(value)) => NotificationResult::Value(value.content),
            Some(TemplateResult::Failure(failure)) => NotificationResult::Failure(failure),
            Some(TemplateResult::InvocationId(id)) => NotificationResult::InvocationId(id),
            Some(TemplateResult::StateKeys(keys)) => NotificationResult::StateKeys(keys.keys),
            None => return Err("has no result".into()),
        };
        let notification = Self { kind, id, result };
        notification.fault().map_or(Ok(notification), Err)
    }

    pub(crate) fn payload(&self) -> Bytes {
        let id = match &self.id {
            NotificationId::Completion(id) => TemplateId::Completion(*id),
            NotificationId::Signal(index) => TemplateId::Signal(*index),
            NotificationId::NamedSignal(name) => TemplateId::Name(name.clone()),
        };
        let result = match self.result.clone() {
            NotificationResult::Void => TemplateResult::Void(Void {}),
            NotificationResult::Value(content) => TemplateResult::Value(ValueMessage { content }),
            NotificationResult::Failure(failure) => TemplateResult::Failure(failure),
            NotificationResult::InvocationId(id) => TemplateResult::InvocationId(id),
            NotificationResult::StateKeys(keys) => TemplateResult::StateKeys(StateKeys { keys }),
        };
        NotificationTemplate { id: Some(id), result: Some(result) }.encode_to_vec().into()
    }
}

/// All kinds of notifications in one message.
#[derive(Clone, PartialEq, Message)]
struct NotificationTemplate {
    #[prost(oneof = "TemplateId", tags = "1, 2, 3")]
    id: Option<TemplateId>,
    #[prost(oneof = "TemplateResult", tags = "4, 5, 6, 16, 17")]
    result: Option<TemplateResult>,
}

#[derive(Clone, PartialEq, Oneof)]
enum TemplateId {
    #[prost(uint32, tag = "1")]
    Completion(u32),
    #[prost(uint32, tag = "2")]
    Signal(u32),
    #[prost(string, tag = "3")]
    Name(String),
}

#[derive(Clone, PartialEq, Oneof)]
enum TemplateResult {
    #[prost(message, tag = "4")]
    Void(Void),
    #[prost(message, tag = "5")]
    Value(ValueMessage),
    #[prost(message, tag = "6")]
    Failure(Failure),
    #[prost(string, tag = "16")]
    InvocationId(String),
    #[prost(message, tag = "17")]
    StateKeys(StateKeys),
}
