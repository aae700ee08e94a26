//! A command of the guest that has not completed.

use segno_guest::{Outcome, commands::Http};
use segno_restate::immutable::Call;

/// A command that has not completed.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) what: What,
    /// Whether it is a step of a saga, of which 408 and 499 say that nobody knows whether it acted.
    pub(super) is_step: bool,
    /// Whether the guest cancelled it.
    pub(super) is_cancelled: bool,
    /// Whether the guest does not wait for it any more.
    pub(super) is_forgotten: bool,
    /// What begins when its time has come.
    pub(super) later: Option<Work>,
}

/// What the guest waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The result of a call, by this invocation, if that is known.
    Call { callee: Option<String> },
    /// That an invocation began.
    Send,
    /// An instant.
    Sleep,
    /// A promise.
    Promise,
    /// A promise of the object.
    ObjectPromise,
    /// How a promise of the object stands.
    Standing,
    /// Whether this settled a promise of the object.
    Settlement,
    /// An answer.
    Http,
    /// The result of a computation.
    Run,
    /// A part of the state.
    State,
    /// What is known already.
    Known,
}

/// What a command begins, at once or later.
#[derive(Debug)]
pub(super) enum Work {
    /// A call.
    Call(Box<Call>),
    /// A request.
    Http(Box<Http>),
}

/// What a result that comes is of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Its result.
    Result,
    /// Who was called.
    Callee,
    /// The end of its time.
    Deadline,
    /// The time at which it begins.
    Begin,
}

impl Open {
    pub(super) fn new(what: What) -> Self {
        Self { what, is_step: false, is_cancelled: false, is_forgotten: false, later: None }
    }
}

/// What completes at once, or is open.
pub(super) enum Begun {
    /// It is open.
    Open(Open),
    /// It has this outcome.
    Known(Outcome),
    /// It completes without an event.
    Silent,
}
