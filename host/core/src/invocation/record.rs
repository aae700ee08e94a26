//! One line of a journal. Commands (what the guest asked) and notifications (what it was told)
//! stand in the order in which they happened: that order is the history.
//!
//! Records are stored for ever: variants are only ever added at the end of an enum, and fields
//! never.

use serde::{Deserialize, Serialize};

use super::{Request, Seed};
use crate::{
    id::{CommandIndex, Digest},
    time::Timestamp,
    value::{Payload, Text},
};

/// A record of one invocation's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its place, from 0 without gap.
    pub seq: u32,
    /// Logical time, never falling: the instant of the event that began the poll.
    pub at: Timestamp,
    /// What happened.
    pub body: RecordBody,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordBody {
    /// The invocation began; always the first record, and only that.
    Started {
        /// The function.
        function: Text,
        /// Its input.
        input: Payload,
        /// The module it is in.
        module: Digest,
        /// What all its randomness is drawn from.
        seed: Seed,
        /// Settings of the engine that could change a replay.
        engine: EngineFacts,
    },
    /// The guest asked for something.
    Command {
        /// Its number, from 0 without gap.
        index: CommandIndex,
        /// What kind of thing.
        kind: CommandKind,
        /// The function, step or promise it named.
        name: Text,
        /// The rest of what it asked, by field.
        request: Request,
    },
    /// The guest was told the result of a command; at most once for each, and after the command.
    Notified {
        /// The command.
        index: CommandIndex,
        /// The result.
        outcome: Outcome,
    },
    /// The guest was told of a signal.
    Signal {
        /// Its name.
        name: Text,
        /// Its payload.
        payload: Payload,
    },
    /// The guest was told that it should stop.
    Cancelled,
    /// The guest ended; always the last record.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

/// What kind of thing a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Call a function.
    Call,
    /// Start a function without waiting for it.
    Send,
    /// Wait until an instant.
    Sleep,
    /// Make a promise that is settled from outside.
    Promise,
    /// Settle a promise.
    Settle,
    /// An HTTP request by the host.
    Http,
    /// Record the result of a computation.
    Run,
    /// Cancel another command.
    Cancel,
    /// Publish an event.
    Publish,
    /// Read a part of the state of the object.
    GetState,
    /// Write a part of it; nothing completes the command.
    SetState,
    /// Remove a part of it; nothing completes the command.
    ClearState,
    /// Remove all of it; nothing completes the command.
    ClearAllState,
    /// The names of the parts of it.
    StateKeys,
    /// Wait for a promise of the object.
    WaitObjectPromise,
    /// Read how a promise of the object stands.
    PeekObjectPromise,
    /// Settle a promise of the object.
    SettleObjectPromise,
    /// Read a promise, or how another invocation ended, without waiting for it.
    Peek,
    /// Wait for the end of another invocation.
    Attach,
    /// Send another invocation a signal; nothing completes the command.
    Signal,
    /// Send another invocation a signal.
    SendSignal,
    /// Say which of the signals that it was told were never read; nothing completes the command. The name is
    /// their number.
    Unread,
    /// End, and have another generation go on; nothing completes the command.
    ContinueAsNew,
}

/// How a command, or the invocation, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Here it is.
    Inline(StepResult),
    /// It is the value of the promise of that command (of the invocation itself, in `Finished`):
    /// too large to repeat.
    Own,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepResult {
    /// It ended and there is nothing to say.
    Empty,
    /// It ended with a value.
    Value(Payload),
    /// It failed.
    Failure {
        /// 400 to 599 read as in HTTP.
        code: u32,
        /// One sentence.
        message: Text,
        /// For programs.
        details: Option<Payload>,
    },
}

/// Settings of the engine that could change a replay; they are compared when a journal is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Raised when an upgrade of the engine could make equal code behave differently.
    pub class: u32,
    /// Whether NaNs are canonical.
    pub canonical_nans: bool,
    /// Whether relaxed SIMD is deterministic.
    pub deterministic_simd: bool,
    /// The most linear memory an instance gets; growth beyond it answers -1.
    pub memory_limit_bytes: u64,
    /// The most table elements an instance gets.
    pub table_limit: u64,
}

/// A line a guest logged; stored with the batch it belongs to, and not repeated in a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The record after which it was logged.
    pub seq: u32,
    /// How much it matters.
    pub level: LogLevel,
    /// Logical time.
    pub at: Timestamp,
    /// What it says.
    pub message: Text,
}

/// How much a log line matters. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum LogLevel {
    /// Every detail.
    Trace = 1,
    /// For a person who looks for a fault.
    Debug = 2,
    /// Normal life.
    Info = 3,
    /// Worth a look.
    Warn = 4,
    /// Something failed.
    Error = 5,
}

impl LogLevel {
    /// The stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The level with this stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error]
            .into_iter()
            .find(|level| level.number() == number)
    }
}

impl RecordBody {
    /// Whether it is something the guest was told after its start.
    pub fn is_event(&self) -> bool {
        match self {
            Self::Notified { .. } | Self::Signal { .. } | Self::Cancelled => true,
            Self::Started { .. } | Self::Command { .. } | Self::Finished { .. } => false,
        }
    }

    /// Whether the guest was told of something else than that it should stop: a request to stop can
    /// be told before it.
    pub fn is_other_event(&self) -> bool {
        self.is_event() && !matches!(self, Self::Cancelled)
    }

    /// The name of its kind, for people.
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
    /// Its name, for people.
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
        }
    }

    /// Whether something completes the command. A write is done with its record.
    pub fn completes(self) -> bool {
        match self {
            Self::SetState
            | Self::ClearState
            | Self::ClearAllState
            | Self::Signal
            | Self::Unread
            | Self::ContinueAsNew => false,
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
