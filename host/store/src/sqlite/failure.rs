//! Classifies SQLite result codes.
//!
//! Readers get the codes from `sqlx`, the writer from `rusqlite`; both convert them to [`SqlFailure`].

use super::connection::FailedStatement;
use crate::{StoreError, sql::SqlFailure};

/// Another connection holds the write lock.
pub(super) const BUSY: i32 = 5;
/// The database is read-only.
pub(super) const READ_ONLY: i32 = 8;
/// Out of memory.
const NO_MEMORY: i32 = 7;
/// A statement was interrupted.
pub(super) const INTERRUPTED: i32 = 9;
/// The disk failed. After a failed commit, it is unknown what was written.
pub(super) const DISK: i32 = 10;
/// The database is damaged.
pub(super) const CORRUPT: i32 = 11;
/// No space is left on the disk.
pub(super) const FULL: i32 = 13;
/// The file cannot be opened.
pub(super) const CANNOT_OPEN: i32 = 14;
/// A constraint or a trigger refused a row.
pub(super) const CONSTRAINT: i32 = 19;
/// The file is not a database.
pub(super) const NOT_A_DATABASE: i32 = 26;
/// Another connection of this process has locked a table.
const LOCKED: i32 = 6;
/// The locking protocol of the log failed.
const PROTOCOL: i32 = 15;

/// SQLite's primary result code, if the error is SQLite's.
pub(super) fn primary_code(error: &SqlFailure) -> Option<i32> {
    Some(extended_code(error)? & 0xff)
}

fn extended_code(error: &SqlFailure) -> Option<i32> {
    match error {
        SqlFailure::Sqlite { code, .. } => Some(*code),
        SqlFailure::Driver(error) => error.as_database_error()?.code()?.parse().ok(),
        SqlFailure::Unreadable(_) | SqlFailure::NotPrimary(_) | SqlFailure::NoRow => None,
    }
}

/// True if a `COMMIT` that failed with this error has certainly not happened.
pub(super) fn is_undone(error: &SqlFailure) -> bool {
    matches!(primary_code(error), Some(BUSY | READ_ONLY | FULL | CONSTRAINT))
}

/// The error for the caller after a failure before or instead of a commit.
pub(super) fn explain(failed: FailedStatement) -> StoreError {
    let FailedStatement { statement, source } = failed;
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
        _ => StoreError::Database { statement, source: source.into() },
    }
}

/// True if the store must stop until an operator has looked, because the content of the disk is
/// unknown. Failures before a sync leave the relevant content unchanged, and may be retried: a
/// write beyond a quota or limit, a file that could not grow, a lock.
pub(super) fn is_final(error: &SqlFailure) -> bool {
    match primary_code(error) {
        Some(CORRUPT) => true,
        Some(DISK) => !extended_code(error).is_some_and(|code| BEFORE_A_SYNC.contains(&code)),
        _ => false,
    }
}

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureCause {
    /// A submission: a constraint, an oversized value, an unreadable row. The other submissions of
    /// the batch may be committed.
    Submission,
    /// A temporary condition: another connection holds a lock, or a statement was interrupted.
    Moment,
    /// The file, the disk or the memory: writes are refused.
    Medium,
}

/// Classifies the cause of a failure.
pub(super) fn fault(error: &SqlFailure) -> FailureCause {
    match (primary_code(error), error) {
        (Some(READ_ONLY | DISK | CORRUPT | FULL | CANNOT_OPEN | NO_MEMORY), _) => {
            FailureCause::Medium
        }
        (Some(BUSY | LOCKED | INTERRUPTED | PROTOCOL | NOT_A_DATABASE), _) => FailureCause::Moment,
        (Some(_), _) | (None, SqlFailure::Unreadable(_)) => FailureCause::Submission,
        (
            None,
            SqlFailure::Sqlite { .. }
            | SqlFailure::Driver(_)
            | SqlFailure::NotPrimary(_)
            | SqlFailure::NoRow,
        ) => FailureCause::Moment,
    }
}

/// The extended codes of [`DISK`] for operations that failed before a sync: writing, truncating,
/// deleting, examining or closing a file; memory, locks and the size of the shared-memory file.
const BEFORE_A_SYNC: [i32; 14] =
    [778, 1546, 1802, 2058, 2570, 3082, 3338, 3850, 4106, 4618, 4874, 5130, 5386, 6154];

/// The reason given while the disk is full.
pub(super) const NO_SPACE: &str = "no space is left on the disk: free some";

/// The reason given when a store has stopped for good.
pub(super) const DISK_FAILED: &str =
    "the disk failed: check it, and start again, so that its data is read again";

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: i32) -> SqlFailure {
        SqlFailure::Sqlite { code, message: "an answer".to_owned() }
    }

    /// Temporary: a write beyond a quota, a shared file that cannot grow. Final: a failed sync, a
    /// page with wrong content.
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
            assert_eq!(fault(&answer(code)), FailureCause::Medium, "{code}");
        }
        assert_eq!(fault(&answer(CONSTRAINT)), FailureCause::Submission);
        assert_eq!(fault(&answer(BUSY)), FailureCause::Moment);
    }
}
