//! The insertion lock. A key that does not exist cannot be locked, so two transactions that insert
//! rows with the same keys wait for each other at the insertion.
//!
//! A transaction that writes once inserts rows in one order shared by all, so it cannot close a
//! cycle of waits. A transaction that writes, reads again and writes more may wait for a key that
//! sorts before one it has already inserted. Insertion is therefore guarded by an advisory lock:
//! shared for transactions that write once, exclusive for those that may write again. It is taken
//! after the row locks that a transaction waits for, and a holder of the shared lock waits only for
//! the keys of other shared holders.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use super::failure::FailedStatement;

/// The key of the advisory lock, as an SQL expression.
macro_rules! key {
    () => {
        "x'5365676e6f31'::bigint"
    };
}

/// Assigns numbers to new promises, under the shared lock.
pub(super) const NUMBERS: &str = concat!(
    "WITH entered AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(",
    key!(),
    ")) SELECT nextval('promises_n') FROM entered, generate_series(1, $1)"
);
const SHARED: &str = concat!("SELECT pg_advisory_xact_lock_shared(", key!(), ")");
const EXCLUSIVE: &str = concat!("SELECT pg_advisory_xact_lock(", key!(), ")");

/// The mode in which a transaction holds the insertion lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Insertion {
    /// Not held: the transaction inserts no rows.
    #[default]
    None,
    /// Shared: the current write is the last one that inserts rows.
    Shared,
    /// Exclusive: the transaction may insert more rows later.
    Exclusive,
}

impl Insertion {
    /// Takes the lock in the wanted mode, unless it is held in that or a stronger one. Returns true
    /// if a statement was sent.
    pub(super) async fn take(
        &mut self,
        wanted: Self,
        connection: &mut PgConnection,
    ) -> Result<bool, FailedStatement> {
        if *self >= wanted {
            return Ok(false);
        }
        let statement = if wanted == Self::Exclusive { EXCLUSIVE } else { SHARED };
        let taken = connection.execute(AssertSqlSafe(statement)).await;
        taken.map_err(FailedStatement::of("take the lock of those who make rows"))?;
        *self = wanted;
        Ok(true)
    }
}
