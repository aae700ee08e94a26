//! What PostgreSQL's errors mean to us.

use std::fmt;

use crate::{StoreError, sql::Failure};

/// A statement that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Which.
    pub(super) statement: &'static str,
    /// PostgreSQL's answer, or what came instead of one.
    pub(super) source: Failure,
}

/// What a failure before a commit leaves true: nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Another transaction was in the way; trying again helps.
    Race,
    /// The database is not there, or the connection to it is not.
    Away,
    /// The database refuses writes until the operator acts.
    ReadOnly,
    /// It will say the same again.
    Refused,
}

/// The code of a statement that took longer than its connection allows.
pub(super) const TOO_LONG: &str = "57014";

impl Failed {
    pub(super) fn of<F: Into<Failure>>(statement: &'static str) -> impl Fn(F) -> Self {
        move |source| Self { statement, source: source.into() }
    }

    pub(super) fn cause(&self) -> Cause {
        cause(&self.source)
    }

    /// The error for the caller.
    pub(super) fn explain(self) -> StoreError {
        match self.cause() {
            Cause::Race => StoreError::Conflict,
            Cause::Away => StoreError::Away { reason: self.source.to_string() },
            Cause::ReadOnly => StoreError::Away {
                reason: format!("it is read-only at the moment ({})", self.source),
            },
            Cause::Refused => {
                StoreError::Database { statement: self.statement, source: self.source.into() }
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.statement, self.source)
    }
}

/// PostgreSQL's code for what went wrong, if it was PostgreSQL that said so.
pub(super) fn code(error: &Failure) -> Option<String> {
    let Failure::Driver(error) = error else { return None };
    Some(error.as_database_error()?.code()?.into_owned())
}

pub(super) fn cause(error: &Failure) -> Cause {
    let Some(code) = code(error) else {
        return match error {
            Failure::Driver(
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::WorkerCrashed
                | sqlx::Error::BeginFailed,
            )
            | Failure::NotPrimary(_) => Cause::Away,
            _ => Cause::Refused,
        };
    };
    match code.as_str() {
        // Serialization failure, deadlock, lock not available; a promise that another transaction
        // made meanwhile, or a module that was removed; a schema that changed under a prepared
        // statement.
        "40001" | "40P01" | "55P03" | "23505" | "23503" | "0A000" => Cause::Race,
        // A standby, or made read-only by its owner.
        "25006" => Cause::ReadOnly,
        // Connection exceptions, shutdown and crash, starting up, too many connections, idle in a
        // transaction, no space, a statement that took too long.
        code if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
            Cause::Away
        }
        "25P03" | TOO_LONG => Cause::Away,
        _ => Cause::Refused,
    }
}

/// Whether a `COMMIT` that failed so has certainly not happened.
pub(super) fn is_undone(error: &Failure) -> bool {
    // Whatever PostgreSQL itself says about a commit, it says instead of committing, except that it
    // is going down.
    code(error).is_some_and(|code| !code.starts_with("57P") && !code.starts_with("08"))
}
