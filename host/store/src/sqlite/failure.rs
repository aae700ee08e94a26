//! What SQLite's result codes mean to us.
//!
//! Readers hear them from `sqlx`, the writer from `rusqlite`: both as [`sqlx::Error`], so that one table explains them.

use std::{borrow::Cow, error::Error, fmt};

use sqlx::error::{DatabaseError, ErrorKind};

use super::connection::Failed;
use crate::StoreError;

/// Somebody else holds the write lock.
pub(super) const BUSY: i32 = 5;
/// The database may only be read.
pub(super) const READ_ONLY: i32 = 8;
/// There is no memory left.
const NO_MEMORY: i32 = 7;
/// A statement was ended before it was done.
pub(super) const INTERRUPTED: i32 = 9;
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
/// Somebody else of this process holds a table; there is no memory; it was interrupted; the locks fail.
const OF_THE_MOMENT: [i32; 4] = [6, 7, 9, 15];

/// SQLite's primary result code, if the error is SQLite's.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    Some(extended_code(error)? & 0xff)
}

fn extended_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
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
        Some(FULL) => unavailable(NO_SPACE),
        Some(READ_ONLY) => unavailable("the database became read-only: make it writable"),
        Some(DISK | CORRUPT) if is_final(&source) => unavailable(DISK_FAILED),
        Some(DISK) => unavailable(
            "the disk refuses to be written to: free some space, and look at quotas and limits",
        ),
        _ => StoreError::Database { statement, source },
    }
}

/// Whether nothing more may be written before somebody looked: what the disk holds is not known. What failed before a sync
/// leaves the disk as it was for everything that counts, and may be tried again: a write beyond a quota or a limit, a
/// file that could not grow, a lock.
pub(super) fn is_final(error: &sqlx::Error) -> bool {
    match primary_code(error) {
        Some(CORRUPT) => true,
        Some(DISK) => !extended_code(error).is_some_and(|code| BEFORE_A_SYNC.contains(&code)),
        _ => false,
    }
}

/// Whether what was to be written is at fault, and not what it is written to.
pub(super) fn is_of_rows(error: &sqlx::Error) -> bool {
    match primary_code(error) {
        Some(code) => !matches!(code, READ_ONLY | DISK | CORRUPT | FULL | CANNOT_OPEN | NO_MEMORY),
        None => true,
    }
}

/// The extended codes of [`DISK`] that say what could not be done before anything was synced: write, truncate, remove,
/// look at or close a file; memory, locks and the size of what processes share.
const BEFORE_A_SYNC: [i32; 14] =
    [778, 1546, 1802, 2058, 2570, 3082, 3338, 3850, 4106, 4618, 4874, 5130, 5386, 6154];

/// Why nothing is written until there is room again.
pub(super) const NO_SPACE: &str = "no space is left on the disk: free some";

/// Whether it is about what was asked and not about the database: a constraint, a value that is too long, a row that
/// cannot be read. Another submission of the same batch may well be committed.
pub(super) fn is_of_one(error: &sqlx::Error) -> bool {
    match primary_code(error) {
        Some(BUSY | READ_ONLY | DISK | CORRUPT | FULL | CANNOT_OPEN | NOT_A_DATABASE) => false,
        Some(code) => !OF_THE_MOMENT.contains(&code),
        None => matches!(error, sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: i32) -> sqlx::Error {
        sqlx::Error::Database(Box::new(Answer { code, message: "an answer".to_owned() }))
    }

    /// A write beyond a quota, a shared file that cannot grow; a sync that failed, a page that is not what it was.
    #[test]
    fn a_store_stops_for_good_only_where_it_is_not_known_what_the_disk_holds() {
        for (code, stops) in [
            (FULL, false),
            (778, false),
            (4874, false),
            (1034, true),
            (1290, true),
            (CORRUPT, true),
        ] {
            assert_eq!(is_final(&answer(code)), stops, "{code}");
            assert!(!is_of_rows(&answer(code)), "{code}");
        }
        assert!(is_of_rows(&answer(CONSTRAINT)) && is_of_rows(&answer(BUSY)));
    }
}
