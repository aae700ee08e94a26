//! What SQLite's result codes mean to us.
//!
//! Readers hear them from `sqlx`, the writer from `rusqlite`: both as [`sqlx::Error`], so that one table explains them.

use std::{borrow::Cow, error::Error, fmt};

use sqlx::error::{DatabaseError, ErrorKind};

use super::connection::Failed;
use crate::store::StoreError;

/// Somebody else holds the write lock.
pub(super) const BUSY: i32 = 5;
/// The database may only be read.
pub(super) const READ_ONLY: i32 = 8;
/// The disk failed: after a commit, nobody knows what was kept.
pub(super) const DISK: i32 = 10;
/// The database is damaged.
pub(super) const CORRUPT: i32 = 11;
/// No space is left.
pub(super) const FULL: i32 = 13;
/// The file cannot be opened.
pub(super) const CANNOT_OPEN: i32 = 14;
/// A constraint or a trigger refused a row.
pub(super) const CONSTRAINT: i32 = 19;
/// The file is something else.
pub(super) const NOT_A_DATABASE: i32 = 26;

/// SQLite's primary result code, if the error is SQLite's.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Whether a `COMMIT` that failed so has certainly not happened.
pub(super) fn is_undone(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(BUSY | READ_ONLY | FULL | CONSTRAINT))
}

/// What a failure before or instead of a commit means to whoever asked for it.
pub(super) fn explain(failed: Failed) -> StoreError {
    let Failed { statement, source } = failed;
    let unavailable =
        |reason: &str| StoreError::Unavailable { reason: format!("{reason} ({source})") };
    match primary_code(&source) {
        Some(BUSY) => StoreError::Conflict,
        Some(FULL) => unavailable("no space is left on the disk: free some"),
        Some(READ_ONLY) => unavailable("the database became read-only: make it writable"),
        Some(DISK | CORRUPT) => unavailable(DISK_FAILED),
        _ => StoreError::Database { statement, source },
    }
}

/// Whether nothing more may be written before somebody looked: what the disk holds is not known.
pub(super) fn is_final(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(DISK | CORRUPT))
}

/// Why a store stops for good.
pub(super) const DISK_FAILED: &str =
    "the disk failed: check it, and start again, so that what it holds is read anew";

/// What `rusqlite` said, as `sqlx` says it.
pub(super) fn known(error: rusqlite::Error) -> sqlx::Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            let message = message.unwrap_or_else(|| failure.to_string());
            sqlx::Error::Database(Box::new(Answer { code: failure.extended_code, message }))
        }
        other => sqlx::Error::Decode(other.into()),
    }
}

/// SQLite's answer to the writer.
#[derive(Debug)]
struct Answer {
    code: i32,
    message: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(code: {}) {}", self.code, self.message)
    }
}

impl Error for Answer {}

impl DatabaseError for Answer {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.to_string().into())
    }

    fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}
