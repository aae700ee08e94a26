//! Classifies PostgreSQL errors.

use std::fmt;

use super::pooler::LOST_STATEMENT;
use crate::{StoreError, sql::SqlFailure};

/// A statement that failed.
#[derive(Debug)]
pub(super) struct FailedStatement {
    /// Name of the statement.
    pub(super) statement: &'static str,
    /// The error that PostgreSQL or the driver returned.
    pub(super) source: SqlFailure,
}

/// Classification of a failure before the commit. Nothing was written in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureClass {
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

impl FailedStatement {
    pub(super) fn of<F: Into<SqlFailure>>(statement: &'static str) -> impl Fn(F) -> Self {
        move |source| Self { statement, source: source.into() }
    }

    pub(super) fn cause(&self) -> FailureClass {
        cause(&self.source)
    }

    /// The error returned to the caller.
    pub(super) fn explain(self) -> StoreError {
        match self.cause() {
            FailureClass::Race => StoreError::Conflict,
            FailureClass::Away => StoreError::Away { reason: self.source.to_string() },
            FailureClass::ReadOnly => StoreError::Away {
                reason: format!("it is read-only at the moment ({})", self.source),
            },
            FailureClass::Refused => {
                StoreError::Database { statement: self.statement, source: self.source.into() }
            }
        }
    }
}

impl fmt::Display for FailedStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.statement, self.source)
    }
}

/// The SQLSTATE of the error, if it came from PostgreSQL.
pub(super) fn code(error: &SqlFailure) -> Option<String> {
    let SqlFailure::Driver(error) = error else { return None };
    code_of(error)
}

/// The SQLSTATE of an error of the driver, if it came from PostgreSQL.
pub(super) fn code_of(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

pub(super) fn cause(error: &SqlFailure) -> FailureClass {
    match error {
        SqlFailure::Driver(error) => cause_of(error),
        SqlFailure::NotPrimary(_) => FailureClass::Away,
        SqlFailure::Unreadable(_) | SqlFailure::Sqlite { .. } | SqlFailure::NoRow => {
            FailureClass::Refused
        }
    }
}

pub(super) fn cause_of(error: &sqlx::Error) -> FailureClass {
    let Some(code) = code_of(error) else {
        return match error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => FailureClass::Away,
            _ => FailureClass::Refused,
        };
    };
    match code.as_str() {
        // Serialization failure, deadlock, lock not available; a promise inserted concurrently by
        // another transaction, or a removed module; a schema that changed under a prepared
        // statement.
        "40001" | "40P01" | "55P03" | "23505" | "23503" | "0A000" => FailureClass::Race,
        // The session is not the one that prepared the statement: a pooler lends sessions since.
        code if LOST_STATEMENT.contains(&code) => FailureClass::Away,
        // A standby, or a server set read-only by its owner.
        "25006" => FailureClass::ReadOnly,
        // Connection exceptions, shutdown and crash, starting up, too many connections, idle in a
        // transaction, no space, statement timeout.
        code if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
            FailureClass::Away
        }
        "25P03" | TOO_LONG => FailureClass::Away,
        _ => FailureClass::Refused,
    }
}

/// True if a `COMMIT` that failed with this error has certainly not happened.
pub(super) fn is_undone(error: &SqlFailure) -> bool {
    // Any error from PostgreSQL itself means that it did not commit, except a shutdown.
    code(error).is_some_and(|code| !code.starts_with("57P") && !code.starts_with("08"))
}
