//! Waits for inserted keys. A key that does not exist cannot be locked, so two transactions that
//! insert rows with the same keys wait for each other at the insertion.
//!
//! A transaction that inserts once does so in one order shared by all, so it cannot close a cycle
//! of waits. A transaction that inserts, reads again and inserts more may wait for a key that sorts
//! before one it has already inserted. From its second insertion on, its waits are therefore short:
//! it gives up, and is decided again, long before the database looks for a deadlock.

use sqlx::{Executor as _, PgConnection};

use super::failure::FailedStatement;

/// Assigns numbers to new promises.
pub(super) const NUMBERS: &str = "SELECT nextval('promises_n') FROM generate_series(1, $1)";

/// A transaction waits for other rows only before its first insertion, so the limit is one on waits
/// for keys. Longer than a commit usually takes, and shorter than `deadlock_timeout`.
const SHORT_WAITS: &str = "SET LOCAL lock_timeout = '200ms'";

/// The keys that a transaction has inserted, and for which others may wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum InsertedKeys {
    #[default]
    None,
    /// Inserted once.
    Some,
    /// Inserted more than once: waits are limited.
    Limited,
}

impl InsertedKeys {
    /// Limits the waits of all insertions: the transaction holds rows of other databases.
    pub(super) fn limit(&mut self) {
        if *self == Self::None {
            *self = Self::Some;
        }
    }

    /// Called before rows are inserted. Returns true if a statement was sent.
    pub(super) async fn enter(
        &mut self,
        connection: &mut PgConnection,
    ) -> Result<bool, FailedStatement> {
        match self {
            Self::None => {
                *self = Self::Some;
                Ok(false)
            }
            Self::Some => {
                let limited = connection.execute(SHORT_WAITS).await;
                limited.map_err(FailedStatement::of("limit waits for keys"))?;
                *self = Self::Limited;
                Ok(true)
            }
            Self::Limited => Ok(false),
        }
    }
}
