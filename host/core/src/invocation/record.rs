//! Records of a journal. Commands (issued by the guest) and notifications (delivered to it) are in
//! the order in which they happened. That order is the history.
//!
//! Records are stored forever. New variants are only added at the end of an enum, and fields are
//! never added.

use serde::{Deserialize, Serialize};

use super::{CommandRequest, Seed};
use crate::{
    id::{CommandIndex, Digest},
    time::Timestamp,
    value::{Payload, Text},
};

/// A record in the journal of an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Sequence number, from 0 without gaps.
    pub seq: u32,
    /// Logical time, which never decreases: the instant of the event that started the poll.
    pub at: Timestamp,
    pub body: RecordBody,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordBody {
    /// The invocation started. Always the first record, and nowhere else.
    Started {
        function: Text,
        input: Payload,
        /// The module that contains the function.
        module: Digest,
        /// Seed of all the invocation's random numbers.
        seed: Seed,
        /// Engine settings that could affect a replay.
        engine: EngineFacts,
    },
    /// The guest issued a command.
    Command {
        /// Command index, from 0 without gaps.
        index: CommandIndex,
        kind: CommandKind,
        /// Name of the function, step or promise.
        name: Text,
        /// Remaining fields of the command.
        request: CommandRequest,
    },
    /// The guest was notified of the result of a command. At most once per command, and after it.
    Notified { index: CommandIndex, outcome: Outcome },
    /// A signal was delivered to the guest.
    Signal { name: Text, payload: Payload },
    /// The guest was notified of a stop request.
    Cancelled,
    /// The guest ended. Always the last record.
    Finished { outcome: Outcome },
}

/// Kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Calls a function.
    Call,
    /// Starts a function without waiting for it.
    Send,
    /// Waits until an instant.
    Sleep,
    /// Creates a promise that is settled from outside.
    Promise,
    /// Settles a promise.
    Settle,
    /// Sends an HTTP request from the host.
    Http,
    /// Records the result of a computation.
    Run,
    /// Cancels another command.
    Cancel,
    /// Publishes an event.
    Publish,
    /// Reads an entry of the object's state.
    GetState,
    /// Writes an entry of the object's state. Has no completion.
    SetState,
    /// Removes an entry of the object's state. Has no completion.
    ClearState,
    /// Removes all of the object's state. Has no completion.
    ClearAllState,
    /// Reads the names of the entries of the object's state.
    StateKeys,
    /// Waits for a promise of the object.
    WaitObjectPromise,
    /// Reads the current state of a promise of the object.
    PeekObjectPromise,
    /// Settles a promise of the object.
    SettleObjectPromise,
    /// Reads a promise, or the outcome of another invocation, without waiting for it.
    Peek,
    /// Waits for the end of another invocation.
    Attach,
    /// Sends a signal to another invocation. Has no completion.
    Signal,
    /// Sends a signal to another invocation.
    SendSignal,
    /// Reports the delivered signals that were never read; the name is their number. Has no
    /// completion.
    Unread,
    /// Ends this generation and continues in a new one. Has no completion.
    ContinueAsNew,
    /// Appends to a stream of the invocation. Has no completion.
    AppendStream,
    /// Closes a stream of the invocation. Has no completion.
    CloseStream,
}

/// Outcome of a command, or of the invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The result itself.
    Inline(StepResult),
    /// The value of the command's promise (in `Finished`: of the invocation's own). Used for values
    /// too large to repeat here.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepResult {
    /// Success without a value.
    Empty,
    /// Success with a value.
    Value(Payload),
    Failure {
        /// Error code; 400 to 599 as in HTTP.
        code: u32,
        /// Description, one sentence.
        message: Text,
        /// Machine-readable details.
        details: Option<Payload>,
    },
}

/// Engine settings that could affect a replay. They are compared when a journal is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Raised when an engine upgrade could make the same code behave differently.
    pub class: u32,
    /// True if NaNs are canonicalised.
    pub canonical_nans: bool,
    /// True if relaxed SIMD is deterministic.
    pub deterministic_simd: bool,
    /// Maximum linear memory of an instance, in bytes. Growth beyond it returns -1.
    pub memory_limit_bytes: u64,
    /// Maximum number of table elements of an instance.
    pub table_limit: u64,
}

/// A log line of a guest. Stored with the batch it belongs to, and not repeated during replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Sequence number of the record after which it was logged.
    pub seq: u32,
    pub level: LogLevel,
    pub at: Timestamp,
    pub message: Text,
}

/// Severity of a log line. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum LogLevel {
    Trace = 1,
    /// For troubleshooting.
    Debug = 2,
    /// Normal operation.
    Info = 3,
    /// Potential problem.
    Warn = 4,
    Error = 5,
}

impl LogLevel {
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The level with this stored number. `None` if there is none.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error]
            .into_iter()
            .find(|level| level.number() == number)
    }
}

impl RecordBody {
    /// True for events delivered to the guest after its start.
    pub fn is_event(&self) -> bool {
        match self {
            Self::Notified { .. } | Self::Signal { .. } | Self::Cancelled => true,
            Self::Started { .. } | Self::Command { .. } | Self::Finished { .. } => false,
        }
    }

    /// True for events other than a stop request. A stop request may be delivered before them.
    pub fn is_other_event(&self) -> bool {
        self.is_event() && !matches!(self, Self::Cancelled)
    }

    /// Name of the kind, for display.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Command { .. } => "command",
            Self::Notified { .. } => "notified",
            Self::Signal { .. } => "signal",
            Self::Cancelled => "cancelled",
            Self::Finished { .. } => "finished",
        }
    }
}

impl CommandKind {
    /// Name of the kind, for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Send => "send",
            Self::Sleep => "sleep",
            Self::Promise => "promise",
            Self::Settle => "settle",
            Self::Http => "http",
            Self::Run => "run",
            Self::Cancel => "cancel",
            Self::Publish => "publish",
            Self::GetState => "get-state",
            Self::SetState => "set-state",
            Self::ClearState => "clear-state",
            Self::ClearAllState => "clear-all-state",
            Self::StateKeys => "state-keys",
            Self::WaitObjectPromise => "wait-object-promise",
            Self::PeekObjectPromise => "peek-object-promise",
            Self::SettleObjectPromise => "settle-object-promise",
            Self::Peek => "peek",
            Self::Attach => "attach",
            Self::Signal => "signal",
            Self::SendSignal => "send-signal",
            Self::Unread => "unread",
            Self::ContinueAsNew => "continue-as-new",
            Self::AppendStream => "append-stream",
            Self::CloseStream => "close-stream",
        }
    }

    /// True if the command has a completion. A write is complete with its record.
    pub fn completes(self) -> bool {
        match self {
            Self::SetState
            | Self::ClearState
            | Self::ClearAllState
            | Self::Signal
            | Self::Unread
            | Self::ContinueAsNew
            | Self::AppendStream
            | Self::CloseStream => false,
            Self::Call
            | Self::Send
            | Self::Sleep
            | Self::Promise
            | Self::Settle
            | Self::Http
            | Self::Run
            | Self::Cancel
            | Self::Publish
            | Self::GetState
            | Self::StateKeys
            | Self::WaitObjectPromise
            | Self::PeekObjectPromise
            | Self::SettleObjectPromise
            | Self::Peek
            | Self::Attach
            | Self::SendSignal => true,
        }
    }
}

impl std::fmt::Display for CommandKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
