//! Locks the rows that a decision reads, and loads them: a few statements, whatever number of
//! promises.
//!
//! A batch locks in one order: schedules by id, resources by name, lines by object, limits by name and then
//! their keys, counts of trees by root, promises by their
//! numbers, then tasks by theirs. The awaiters of a promise are certain once the promise is locked, because a
//! callback on it is only added under that lock; and no callback of a task is changed without the
//! task's lock.
//!
//! **What a decision sees is one committed state of the tables**: that of the last
//! [`parts::PARTS`]. Every statement has a snapshot of its own, taken when it begins, and one that
//! waits for a lock goes on with the snapshot it had: it finds the newest version of a row that it
//! knows, and no row that was inserted meanwhile. So a statement that locks says what the rows are
//! that it found, and nothing about the others. The statement that comes after all locks has a
//! snapshot at least as new as the end of every transaction that was waited for; a row that is
//! locked is in it as it was when it was locked; and whatever is not locked is read by it, also if
//! an earlier load had read it:
//!
//! | what | why it is as in that snapshot |
//! |---|---|
//! | promises and tasks of composites and rows | locked; read by a statement that began when the promises were locked, the task's row as it is once its lock is had |
//! | tasks of awaiters, and their promises | the task is locked; its promise is read when it is, and settles only with it |
//! | that there is no such promise | what was looked for in vain is looked for again; if it is there now, the batch begins again with it |
//! | callbacks on a promise | added under the promise's lock, changed under that of the awaiter's task: both are held |
//! | callbacks by a task, its listeners, signal keys, the offer of it, the head and the end of its journal | written under the lock of the promise or the task, and read after it |
//! | messages | written under the lock of the promise they are about |
//! | schedules, resources, leases, lines of objects, counts of trees | read by the statement that locks them; those that were looked for in vain are looked for again |
//! | whose turn is next behind a limit, and who came first | changed under the lock of the limit, and read when it is had; who waits is locked when it is admitted |
//! | places behind limits | written under the lock of their task, and read after it |
//! | pending children | made under the parent's lock; read again when all of the page is locked |
//! | trees | made under the locks of the members; read again when all of them are locked |
//! | promises of an object | found by their ids, and read again when all of them are locked; one that is made later is of who comes later |
//! | what a host or worker holds | found, locked as rows, and looked for again |
//! | aliases, modules, lives of hosts | not locked: read by that statement, all that were asked for by any load of the batch |
//! | facts of sagas | not locked, read by a statement right after it. A fact is written with the settlement of the one promise it is about, so a newer one is that of a promise that the decision does not settle; who writes the same one second is refused by its key |
//! | the time | read by that statement |
//!
//! A module that is removed after that is refused by the foreign key of who would have named it,
//! and the batch begins again.
//!
//! What turns out to be needed later is locked only without waiting. Where a lock would have to be
//! waited for, the batch gives up and begins again with these rows among the first. So no batch
//! waits for a lower row than one that it holds, and no two batches wait for each other.

mod lock;
mod parts;
mod plan;
mod round;
mod tree;

use std::collections::{BTreeSet, HashMap};

use segno_core::{
    footprint::Footprint,
    id::{NodeName, PromiseId},
    time::Timestamp,
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgRow};

pub use self::plan::{PLAN, Read};
use self::round::Admissions;
use super::{
    claims::TransactionId, failure::Failed, fields::escape, tables::OWNED_STATEMENTS,
    write::WrittenNames,
};
use crate::sql::{
    self, AFTER_PROMISE, Cache, Failure, Fields as _, Level, NAMED, OWNED, promise_columns,
    promise_tables,
};

/// Promises and their tasks, by numbers: those that have no task, and those of who awaits.
const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n = ANY($1::bigint[])",
);

/// The tasks that a host or worker holds.
const HELD_BY: &str = "
    SELECT p.n, p.id FROM tasks held JOIN promises p ON p.n = held.n
     WHERE held.node = ANY($1::text[]) AND held.state = 2";

/// Why rows were not loaded.
#[derive(Debug)]
pub(super) enum NotLoaded {
    /// A statement failed.
    Failed(Failed),
    /// Another transaction holds one of these, or made one of them meanwhile: they have to be among
    /// the first that are locked.
    LockFirst(Box<Footprint>),
}

impl NotLoaded {
    /// These composites have to be among the first that are locked.
    fn lock_first(composites: BTreeSet<PromiseId>) -> Self {
        Self::LockFirst(Box::new(Footprint { composites, ..Footprint::default() }))
    }
}

impl From<Failed> for NotLoaded {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// The rows that one transaction has locked.
#[derive(Debug, Default)]
pub(super) struct LockedRows {
    /// Promises that are locked, by id; none: there is no such promise.
    promises: HashMap<PromiseId, Option<i64>>,
    /// The rows that are in the cache.
    loaded: BTreeSet<i64>,
    /// What was read without a lock.
    asked: Footprint,
    /// Of which invocations rows were read in each of [`OWNED`].
    asked_owners: [BTreeSet<PromiseId>; OWNED.len()],
    /// The names that were looked for in each of [`NAMED`].
    asked_names: [BTreeSet<String>; NAMED.len()],
    /// Those of them that exist and are locked.
    pub(super) named: [BTreeSet<String>; NAMED.len()],
    /// Who wrote the rows of tasks that are locked, by their numbers.
    pub(super) writers: HashMap<i64, TransactionId>,
    /// What the database says the time is, after the first load.
    pub(super) now: Option<Timestamp>,
    /// Statements sent.
    pub(super) statements: usize,
}

impl LockedRows {
    /// Takes note that these do not exist any more.
    pub(super) fn forget(&mut self, gone: &BTreeSet<PromiseId>) {
        for id in gone {
            self.promises.insert(id.clone(), None);
        }
    }

    /// Takes note that this transaction made this promise.
    pub(super) fn made(&mut self, id: &PromiseId, number: i64) {
        self.promises.insert(id.clone(), Some(number));
    }

    /// Takes note of the rows with names that this transaction wrote: they are its own.
    pub(super) fn wrote(&mut self, names: WrittenNames) {
        self.named.iter_mut().zip(names).for_each(|(locked, names)| locked.extend(names));
    }

    /// Locks and loads `wanted`, which the cache does not hold. The first load of a transaction
    /// waits for other transactions.
    pub(super) async fn load(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: Footprint,
    ) -> Result<(), NotLoaded> {
        let waits = self.now.is_none();
        let ids = self.to_lock(&wanted);
        let (mut numbers, mut fresh) = (Vec::new(), BTreeSet::new());
        for read in PLAN {
            match read {
                Read::LockNamed => {
                    self.lock_named(connection, cache, &wanted, waits).await?;
                }
                Read::LockPromises => {
                    numbers = self.lock_promises(connection, &ids, waits).await?;
                }
                Read::LockTasks => {
                    let tasks = self.lock_tasks(connection, &numbers, &ids, waits).await?;
                    fresh = self.put_tasks(cache, &numbers, &tasks)?;
                }
                Read::Promises => self.load_promises(connection, cache, &fresh).await?,
                Read::Rest { again } => {
                    self.load_parts(connection, cache, &wanted, again).await?;
                }
                Read::Owned => self.load_owned(connection, cache, &wanted).await?,
            }
        }
        for (invocation, from) in &wanted.tails {
            self.load_tail(connection, cache, invocation, *from).await?;
        }
        let (children, trees) = (wanted.children.clone(), wanted.trees.clone());
        let objects = wanted.promises_of.clone();
        let nodes = wanted.held_by.clone();
        let admissions = Admissions::of(&wanted);
        cache.loaded(wanted);
        self.load_round(connection, cache, admissions).await?;
        if !nodes.is_empty() {
            self.load_held(connection, cache, &nodes).await?;
        }
        for (top, limit) in &trees {
            self.load_tree(connection, cache, top, *limit).await?;
        }
        for object in &objects {
            self.load_promises_of(connection, cache, object).await?;
        }
        for (parent, page) in &children {
            self.load_children(connection, cache, parent, page).await?;
        }
        Ok(())
    }

    /// Takes what the statement that locked tasks read of them. Answers the numbers of promises
    /// that are to be read yet.
    fn put_tasks(
        &mut self,
        cache: &mut Cache,
        numbers: &[i64],
        tasks: &[PgRow],
    ) -> Result<BTreeSet<i64>, Failed> {
        let name = "lock tasks";
        let mut fresh: BTreeSet<i64> = numbers.iter().copied().collect();
        for row in tasks {
            let number: i64 = row.try_get(0).map_err(Failed::of(name))?;
            let writer = row.int(AFTER_PROMISE).map_err(Failed::of(name))?.map(TransactionId::of);
            self.writers.extend(writer.map(|writer| (number, writer)));
            // Whose promise is locked can be taken as it came; of the others only the task is
            // certain.
            if fresh.remove(&number) {
                sql::put_promise(cache, row, Level::Rows).map_err(Failed::of(name))?;
                self.loaded.insert(number);
            } else {
                fresh.insert(number);
            }
        }
        Ok(fresh)
    }

    async fn load_promises(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        fresh: &BTreeSet<i64>,
    ) -> Result<(), Failed> {
        let fresh: Vec<i64> = fresh.difference(&self.loaded).copied().collect();
        if fresh.is_empty() {
            return Ok(());
        }
        for row in &self.rows(connection, "load promises", PROMISES, &fresh).await? {
            sql::put_promise(cache, row, Level::Rows).map_err(Failed::of("load promises"))?;
        }
        self.loaded.extend(fresh);
        Ok(())
    }

    /// The rows of these invocations in the tables of [`OWNED_STATEMENTS`], and of all that were
    /// asked for before: they are not locked.
    async fn load_owned(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), Failed> {
        for (statements, invocations) in OWNED_STATEMENTS.iter().zip(&mut self.asked_owners) {
            invocations.extend((statements.of.wanted)(wanted).iter().cloned());
            if invocations.is_empty() {
                continue;
            }
            let name = statements.of.load;
            self.statements += 1;
            let query = sqlx::query(AssertSqlSafe(statements.load.as_str()));
            let query = query.bind(lock::escaped(&*invocations));
            for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
                sql::put_owned(cache, statements.of, row).map_err(Failed::of(name))?;
            }
        }
        Ok(())
    }

    /// The tasks that these hosts or workers hold. Which they are is not locked, so that is looked
    /// at again when they are.
    async fn load_held(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        nodes: &BTreeSet<NodeName>,
    ) -> Result<(), NotLoaded> {
        let rows: BTreeSet<PromiseId> =
            self.held_by(connection, nodes).await?.into_iter().map(|(_, id)| id).collect();
        let missing = cache.missing(Footprint { rows, ..Footprint::default() });
        if !missing.is_empty() {
            Box::pin(self.load(connection, cache, missing)).await?;
        }
        let locked = self.held_by(connection, nodes).await?.into_iter();
        let taken = locked.filter(|(number, _)| !self.loaded.contains(number)).map(|(_, id)| id);
        let taken: BTreeSet<PromiseId> = taken.collect();
        match taken.is_empty() {
            true => Ok(()),
            false => Err(NotLoaded::lock_first(taken)),
        }
    }

    async fn held_by(
        &mut self,
        connection: &mut PgConnection,
        nodes: &BTreeSet<NodeName>,
    ) -> Result<Vec<(i64, PromiseId)>, Failed> {
        let name = "load the tasks of a host";
        let nodes: Vec<_> = nodes.iter().map(|node| escape(node.as_str())).collect();
        self.statements += 1;
        let found = connection
            .fetch_all(sqlx::query(HELD_BY).bind(nodes))
            .await
            .map_err(Failed::of(name))?;
        let locked = |row: &PgRow| Ok((row.try_get(0)?, sql::id(row, 1)?));
        found.iter().map(locked).collect::<Result<_, Failure>>().map_err(Failed::of(name))
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

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 15] = [
    HELD_BY,
    lock::LOCK_PROMISES,
    lock::TRY_PROMISES,
    lock::LOCK_TASKS,
    lock::TRY_TASKS,
    lock::COUNT_TASKS,
    PROMISES,
    tree::CHILDREN,
    tree::PROMISES_BETWEEN,
    parts::PARTS,
    parts::TAIL,
    sql::round::READY,
    sql::round::TIMED,
    sql::round::SWEEP,
    sql::round::LANE,
];

/// The one that is put together, for the tests of its plan.
#[cfg(test)]
pub(super) fn names_again() -> [String; 1] {
    [parts::PARTS_AND_NAMES.clone()]
}
