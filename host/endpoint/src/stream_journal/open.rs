//! Commands of the guest that have not completed.

use segno_guest::{Outcome, commands::HttpCommand};
use segno_restate::immutable::Call;

/// A pending command of the guest.
#[derive(Debug)]
pub(super) struct PendingCommand {
    pub(super) what: PendingCommandKind,
    /// True for a step of a saga. For a step, the codes 408 and 499 mean that its effect is
    /// unknown.
    pub(super) is_step: bool,
    /// True if the guest cancelled the command.
    pub(super) is_cancelled: bool,
    /// True if the guest no longer waits for the command.
    pub(super) is_forgotten: bool,
    /// The work of a delayed command. `None` for other commands, and after the start time.
    pub(super) later: Option<CommandWork>,
}

/// The kind of a pending command, by the result that completes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingCommandKind {
    /// The result of a call. `callee` is the id of the called invocation, once known.
    Call { callee: Option<String> },
    /// The start of a one-way invocation.
    Send,
    /// The end of a sleep.
    Sleep,
    /// The outcome of a promise.
    Promise,
    /// The outcome of a promise of the object.
    ObjectPromise,
    /// The state of a promise of the object, pending or settled.
    Standing,
    /// The acceptance of a settlement of a promise of the object.
    Settlement,
    /// The response to an HTTP request.
    Http,
    /// The result of a `run` closure.
    Run,
    /// The value of a state key.
    State,
    /// An outcome that is known already.
    Known,
}

/// The work of a command, which begins immediately or later.
#[derive(Debug)]
pub(super) enum CommandWork {
    Call(Box<Call>),
    Http(Box<HttpCommand>),
}

/// The part of a command that a notification completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletedPart {
    /// The result of the command.
    Result,
    /// The invocation id of the callee.
    Callee,
    /// The end of the time limit.
    Deadline,
    /// The start time of the command.
    Begin,
}

impl PendingCommand {
    pub(super) fn new(what: PendingCommandKind) -> Self {
        Self { what, is_step: false, is_cancelled: false, is_forgotten: false, later: None }
    }
}

/// The state of a command after it began.
pub(super) enum CommandStart {
    /// The command is pending.
    Open(PendingCommand),
    /// The command completed with this outcome.
    Known(Outcome),
    /// The command completes without an event.
    Silent,
}
