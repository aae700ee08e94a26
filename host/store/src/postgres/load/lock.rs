//! Takes row locks in one global order, and gives up where that order would be violated.

use std::collections::BTreeSet;

use segno_core::{footprint::Footprint, id::PromiseId, promise::OutboxKey};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{LoadFailure, LockedRows};
use crate::{
    postgres::{
        failure::FailedStatement, fields::escape, statement::query, tables::NAMED_STATEMENTS,
    },
    sql::{self, Cache, promise_columns},
};

/// Locks promises in number order. Numbers never change, so every transaction waits in the same
/// order.
pub(super) const LOCK_PROMISES: &str =
    "SELECT n, id FROM promises WHERE id = ANY($1::text[]) ORDER BY n FOR NO KEY UPDATE";

/// Locks those promises that no other transaction has locked.
pub(super) const TRY_PROMISES: &str = "SELECT n, id FROM promises WHERE id = ANY($1::text[]) ORDER BY n FOR NO KEY UPDATE SKIP LOCKED";

/// The tasks of promises, and the tasks that await them.
macro_rules! tasks_of {
    () => {
        "WHERE t.n = ANY (ARRAY (SELECT unnest($1::bigint[])
                                 UNION SELECT awaiter FROM callbacks WHERE awaited = ANY($1::bigint[]))) "
    };
}

/// Locks tasks and reads their state after locking, together with their promises as of the
/// statement's start: current for promises that are already locked, a guess for the promises of
/// awaiters.
macro_rules! lock_tasks {
    () => {
        concat!(
            "SELECT ",
            promise_columns!(),
            ", t.stamp \
             FROM tasks t JOIN promises p ON p.n = t.n LEFT JOIN promises m ON m.n = p.made_by \
             LEFT JOIN modules d ON d.n = t.module ",
            tasks_of!(),
            "ORDER BY t.n FOR NO KEY UPDATE OF t ",
        )
    };
}

pub(super) const LOCK_TASKS: &str = lock_tasks!();

pub(super) const TRY_TASKS: &str = concat!(lock_tasks!(), "SKIP LOCKED");

/// Counts the tasks that should be locked.
pub(super) const COUNT_TASKS: &str = concat!("SELECT count(*) FROM tasks t ", tasks_of!());

impl LockedRows {
    /// Locks and reads rows by name. An existing row that another transaction has locked is missed
    /// here, and found by the second look ([`LockedRows::load_parts`]).
    pub(super) async fn lock_named(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
        waits: bool,
    ) -> Result<(), FailedStatement> {
        for (place, statements) in NAMED_STATEMENTS.iter().enumerate() {
            let names = (statements.of.wanted)(wanted);
            if names.is_empty() {
                continue;
            }
            let name = statements.of.load;
            self.statements += 1;
            self.asked_names[place].extend(names.iter().map(|name| (*name).to_owned()));
            let stored: Vec<_> = names.into_iter().map(|name| escape(name).into_owned()).collect();
            let statement = if waits { &statements.lock } else { &statements.try_lock };
            let query = query(connection, AssertSqlSafe(statement.as_str())).bind(stored);
            for row in &connection.fetch_all(query).await.map_err(FailedStatement::of(name))? {
                self.named[place].insert(
                    sql::put_named(cache, statements.of, row).map_err(FailedStatement::of(name))?,
                );
            }
        }
        Ok(())
    }

    /// The promises to lock: those whose rows are wanted, and those whose lock guards wanted rows.
    pub(super) fn to_lock(&self, wanted: &Footprint) -> Vec<PromiseId> {
        let mut ids: BTreeSet<&PromiseId> = wanted.composites.iter().chain(&wanted.rows).collect();
        ids.extend(wanted.outbox.iter().map(OutboxKey::promise));
        ids.extend(wanted.tails.keys().chain(wanted.children.keys()));
        ids.extend(wanted.signal_keys.iter().map(|(invocation, _)| invocation));
        ids.into_iter().filter(|id| !self.promises.contains_key(*id)).cloned().collect()
    }

    /// Locks promises and returns the numbers of those found. [`LockedRows::load_parts`] verifies
    /// that the others do not exist, once no more locks are waited for.
    pub(super) async fn lock_promises(
        &mut self,
        connection: &mut PgConnection,
        ids: &[PromiseId],
        waits: bool,
    ) -> Result<Vec<i64>, FailedStatement> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let name = "lock promises";
        let texts = escaped(ids);
        let statement = if waits { LOCK_PROMISES } else { TRY_PROMISES };
        self.statements += 1;
        let query = query(connection, statement).bind(&texts);
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        self.promises.extend(ids.iter().map(|id| (id.clone(), None)));
        let mut numbers = Vec::with_capacity(found.len());
        for row in &found {
            let number = row.try_get(0).map_err(FailedStatement::of(name))?;
            let id = sql::id(row, 1).map_err(FailedStatement::of(name))?;
            self.promises.insert(id, Some(number));
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Locks the tasks of locked promises and the tasks of their awaiters.
    pub(super) async fn lock_tasks(
        &mut self,
        connection: &mut PgConnection,
        numbers: &[i64],
        ids: &[PromiseId],
        waits: bool,
    ) -> Result<Vec<PgRow>, LoadFailure> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let name = "lock tasks";
        let statement = if waits { LOCK_TASKS } else { TRY_TASKS };
        let found = self.rows(connection, name, statement, numbers).await?;
        if !waits {
            let counted = FailedStatement::of("count tasks");
            self.statements += 1;
            let query = query(connection, COUNT_TASKS).bind(numbers);
            let row = connection.fetch_one(query).await.map_err(&counted)?;
            let all: i64 = row.try_get(0).map_err(&counted)?;
            if all != found.len() as i64 {
                return Err(LoadFailure::lock_first(ids.iter().cloned().collect()));
            }
        }
        Ok(found)
    }
}

pub(in crate::postgres) fn escaped<'a>(
    ids: impl IntoIterator<Item = &'a PromiseId>,
) -> Vec<String> {
    ids.into_iter().map(|id| escape(id.as_str()).into_owned()).collect()
}
