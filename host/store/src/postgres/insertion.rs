//! Who makes rows: a key that does not exist cannot be locked, so two transactions that make rows of
//! the same keys wait for each other where they write them.
//!
//! One that writes once makes them in one order, which all share, and closes no circle. One that
//! writes what it decided, looks again and writes more does not: it may wait for a key that comes
//! before one it has made. So making rows is a lock of the database, shared by all who write once,
//! and exclusive for who goes on after that. It comes after the locks of rows that are waited for,
//! and whoever has it shared waits for nothing but the keys of others who have it.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use super::failure::Failed;

/// The key of the lock, as an expression.
macro_rules! key {
    () => {
        "x'5365676e6f31'::bigint"
    };
}

/// Gives new promises their numbers, under the shared lock.
pub(super) const NUMBERS: &str = concat!(
    "WITH entered AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(",
    key!(),
    ")) SELECT nextval('promises_n') FROM entered, generate_series(1, $1)"
);
const SHARED: &str = concat!("SELECT pg_advisory_xact_lock_shared(", key!(), ")");
const EXCLUSIVE: &str = concat!("SELECT pg_advisory_xact_lock(", key!(), ")");

/// How a transaction holds the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Insertion {
    /// Not at all: it makes no rows.
    #[default]
    None,
    /// With others: what it makes now is all that it makes.
    Shared,
    /// Alone: it may make more.
    Exclusive,
}

impl Insertion {
    /// Takes the lock so, if it is not held so. Answers whether a statement was sent.
    pub(super) async fn take(
        &mut self,
        wanted: Self,
        connection: &mut PgConnection,
    ) -> Result<bool, Failed> {
        if *self >= wanted {
            return Ok(false);
        }
        let statement = if wanted == Self::Exclusive { EXCLUSIVE } else { SHARED };
        let taken = connection.execute(AssertSqlSafe(statement)).await;
        taken.map_err(Failed::of("take the lock of those who make rows"))?;
        *self = wanted;
        Ok(true)
    }
}
