//! Classifies PostgreSQL errors.

use std::fmt;

use crate::{StoreError, sql::Failure};

/// A statement that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Name of the statement.
    pub(super) statement: &'static str,
    /// The error that PostgreSQL or the driver returned.
    pub(super) source: Failure,
}

/// Classification of a failure before the commit. Nothing was written in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A conflict with another transaction; a retry helps.
    Race,
    /// The database or the connection to it is unavailable.
    Away,
    /// The database refuses writes until the operator acts.
    ReadOnly,
    /// A retry would fail the same way.
    Refused,
}

/// SQLSTATE of a statement that exceeded its time limit.
pub(super) const TOO_LONG: &str = "57014";

impl Failed {
    pub(super) fn of<F: Into<Failure>>(statement: &'static str) -> impl Fn(F) -> Self {
        move |source| Self { statement, source: source.into() }
    }

    pub(super) fn cause(&self) -> Cause {
        cause(&self.source)
    }

    /// The error returned to the caller.
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

/// The SQLSTATE of the error, if it came from PostgreSQL.
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
        // Serialization failure, deadlock, lock not available; a promise inserted concurrently by
        // another transaction, or a removed module; a schema that changed under a prepared
        // statement.
        "40001" | "40P01" | "55P03" | "23505" | "23503" | "0A000" => Cause::Race,
        // A standby, or a server set read-only by its owner.
        "25006" => Cause::ReadOnly,
        // Connection exceptions, shutdown and crash, starting up, too many connections, idle in a
        // transaction, no space, statement timeout.
        code if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
            Cause::Away
        }
        "25P03" | TOO_LONG => Cause::Away,
        _ => Cause::Refused,
    }
}

/// True if a `COMMIT` that failed with this error has certainly not happened.
pub(super) fn is_undone(error: &Failure) -> bool {
    // Any error from PostgreSQL itself means that it did not commit, except a shutdown.
    code(error).is_some_and(|code| !code.starts_with("57P") && !code.starts_with("08"))
}
