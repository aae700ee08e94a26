//! Locks the rows that a decision reads, and loads them: a few statements, whatever number of promises.
//!
//! A batch locks in one order: schedules by id, resources by name, promises by their numbers, then tasks by theirs. Who awaits a promise is known for sure
//! once the promise is locked, because a callback on it is only added under that lock; and no callback of a task is
//! changed without the task's lock. A task is read by the statement that locks it, as it is then; what else is read
//! comes after the locks, in a statement of its own, so that it shows what those left who were waited for.
//!
//! What turns out to be needed later is locked only where nobody has to be waited for. Where somebody would have to be,
//! the batch gives up and begins again with these rows among the first. So nobody ever waits for a lower row than one
//! that he holds, and no two batches wait for each other.

mod lock;
mod parts;
mod tree;

use std::collections::{BTreeSet, HashMap};

use segno_core::{
    footprint::Footprint,
    id::{PromiseId, ResourceName, ScheduleId},
    time::Timestamp,
};
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{claims::TransactionId, failure::Failed, fields::escape, resources::FACTS};
use crate::store::sql::{
    self, AFTER_PROMISE, Cache, Fields as _, Level, promise_columns, promise_tables,
};

/// Promises and their tasks, by numbers: those that have no task, and those of who awaits.
const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n = ANY($1::bigint[])",
);

/// The tasks that a host holds, with their promises.
const HELD_BY: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM tasks held JOIN promises p ON p.n = held.n ",
    promise_tables!(),
    "WHERE held.node = ANY($1::text[]) AND held.state = 2",
);

/// Why rows were not loaded.
#[derive(Debug)]
pub(super) enum NotLoaded {
    /// A statement failed.
    Failed(Failed),
    /// Somebody else holds one of these: they have to be among the first that are locked.
    Held(BTreeSet<PromiseId>),
}

impl From<Failed> for NotLoaded {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// What one transaction holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Promises that are locked, by id; none: there is no such promise.
    promises: HashMap<PromiseId, Option<i64>>,
    /// The rows that are in the cache.
    loaded: BTreeSet<i64>,
    /// Schedules that exist and are locked.
    pub(super) schedules: BTreeSet<ScheduleId>,
    /// Resources that exist and are locked.
    pub(super) resources: BTreeSet<ResourceName>,
    /// Leases on resources that exist and are locked.
    pub(super) leases: BTreeSet<ResourceName>,
    /// Who wrote the rows of tasks that are locked, by their numbers.
    pub(super) writers: HashMap<i64, TransactionId>,
    /// What the database says the time is, after the first load.
    pub(super) now: Option<Timestamp>,
    /// Statements sent.
    pub(super) statements: usize,
}

impl Held {
    /// Takes note that these do not exist any more.
    pub(super) fn forget(&mut self, gone: &BTreeSet<PromiseId>) {
        for id in gone {
            self.promises.insert(id.clone(), None);
        }
    }

    /// Locks and loads `wanted`, which the cache does not hold. The first time, it waits for those who hold rows.
    pub(super) async fn load(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: Footprint,
    ) -> Result<(), NotLoaded> {
        self.lock_schedules(connection, cache, &wanted).await?;
        self.lock_resources(connection, cache, &wanted).await?;
        let ids = self.to_lock(&wanted);
        let waits = self.now.is_none();
        let numbers = self.lock_promises(connection, &ids, waits).await?;
        let tasks = self.lock_tasks(connection, &numbers, &ids, waits).await?;
        let mut fresh: BTreeSet<i64> = numbers.iter().copied().collect();
        for row in &tasks {
            let failed = Failed::of("lock tasks");
            let number: i64 = row.try_get(0).map_err(&failed)?;
            let writer = row.int(AFTER_PROMISE).map_err(&failed)?.map(TransactionId::of);
            self.writers.extend(writer.map(|writer| (number, writer)));
            // Whose promise is locked can be taken as it came; of the others only the task is certain.
            if fresh.remove(&number) {
                put_promise(cache, row).map_err(&failed)?;
                self.loaded.insert(number);
            } else {
                fresh.insert(number);
            }
        }
        let fresh: Vec<i64> = fresh.difference(&self.loaded).copied().collect();
        if !fresh.is_empty() {
            for row in &self.rows(connection, "load promises", PROMISES, &fresh).await? {
                put_promise(cache, row).map_err(Failed::of("load promises"))?;
            }
            self.loaded.extend(fresh);
        }
        self.load_parts(connection, cache, &wanted).await?;
        if !wanted.facts.is_empty() {
            let invocations: Vec<_> = wanted.facts.iter().map(|id| escape(id.as_str())).collect();
            self.statements += 1;
            let name = "load the facts of sagas";
            let query = sqlx::query(FACTS).bind(invocations);
            for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
                sql::put_fact(cache, row).map_err(Failed::of(name))?;
            }
        }
        if !wanted.held_by.is_empty() {
            let nodes: Vec<_> = wanted.held_by.iter().map(|node| escape(node.as_str())).collect();
            self.statements += 1;
            let name = "load the tasks of a host";
            let query = sqlx::query(HELD_BY).bind(nodes);
            for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
                put_promise(cache, row).map_err(Failed::of(name))?;
            }
        }
        for (invocation, from) in &wanted.tails {
            self.load_tail(connection, cache, invocation, *from).await?;
        }
        let (children, trees) = (wanted.children.clone(), wanted.trees.clone());
        cache.loaded(wanted);
        for (top, limit) in &trees {
            self.load_tree(connection, cache, top, *limit).await?;
        }
        for (parent, page) in &children {
            self.load_children(connection, cache, parent, page).await?;
        }
        Ok(())
    }

    async fn rows(
        &mut self,
        connection: &mut PgConnection,
        name: &'static str,
        statement: &'static str,
        numbers: &[i64],
    ) -> Result<Vec<PgRow>, Failed> {
        self.statements += 1;
        connection.fetch_all(sqlx::query(statement).bind(numbers)).await.map_err(Failed::of(name))
    }
}

fn put_promise(cache: &mut Cache, row: &PgRow) -> Result<(), sqlx::Error> {
    let (number, promise) = sql::promise(row)?;
    let id = promise.id().clone();
    if let Some(task) = sql::task(row, &id)? {
        cache.state.put_task(task);
    }
    cache.state.put_promise(promise);
    cache.know(&id, Some(number), Level::Rows);
    Ok(())
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 11] = [
    super::schedules::LOCK_SCHEDULES,
    lock::LOCK_PROMISES,
    lock::TRY_PROMISES,
    lock::COUNT_PROMISES,
    lock::LOCK_TASKS,
    lock::TRY_TASKS,
    lock::COUNT_TASKS,
    PROMISES,
    tree::CHILDREN,
    parts::PARTS,
    parts::TAIL,
];
