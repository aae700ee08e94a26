//! Locks and loads the rows that a decision reads, with a few statements for any number of
//! promises.
//!
//! A batch takes locks in one order: schedules by id, resources by name, object queues by object,
//! limits by name and then their keys, tree counts by root, promises by number, then tasks by
//! number. The awaiters of a promise are fixed once the promise is locked, because a callback on it
//! is only added under that lock; and a task's callbacks only change under the task's lock.
//!
//! **A decision sees one committed state of the tables**: the snapshot of the last
//! [`parts::PARTS`]. Every statement has its own snapshot, taken when it begins. A statement that
//! waits for a lock keeps its snapshot: it finds the newest version of each row it knows, and no
//! row inserted in the meantime. A locking statement is therefore authoritative for the rows it
//! found, and for no others. The statement after all locks has a snapshot at least as new as the
//! end of every transaction that was waited for. In it, locked rows are as they were when they were
//! locked, and it reads everything that is not locked, even if an earlier load has read it:
//!
//! | rows | reason why they match that snapshot |
//! |---|---|
//! | promises and tasks of composites and rows | locked; read by a statement that began when the promises were locked, the task's row as of its lock |
//! | tasks of awaiters, and their promises | the task is locked; its promise is read after that, and settles only together with the task |
//! | absence of a promise | promises that were not found are looked up again; if one exists now, the batch starts over with it |
//! | callbacks on a promise | added under the promise's lock, changed under the lock of the awaiter's task: both are held |
//! | a task's callbacks, listeners, signal keys, its offer, the head and the end of its journal | written under the lock of the promise or the task, and read after locking |
//! | messages | written under the lock of the promise they are about |
//! | schedules, resources, leases, object queues, tree counts | read by the statement that locks them; those that were not found are looked up again |
//! | the next executions to admit at a limit, and their order | changed under the lock of the limit, and read after locking it; a queued execution is locked when it is admitted |
//! | queue positions at limits | written under the lock of their task, and read after locking |
//! | pending children | created under the parent's lock; read again when the whole page is locked |
//! | trees | created under the locks of the members; read again when all of them are locked |
//! | promises of an object | found by their ids, and read again when all of them are locked; one created later belongs to a later holder |
//! | tasks that a host or worker holds | found, locked as rows, and looked up again |
//! | aliases, modules, incarnations of hosts | not locked: that statement reads all that any load of the batch requested |
//! | facts of sagas | not locked, read by a statement right after it. A fact is written with the settlement of the one promise it is about, so a newer fact concerns a promise that the decision does not settle; the second writer of the same fact is refused by its key |
//! | the current time | read by that statement |
//!
//! If a module is removed after that, the foreign key of a row that names it fails, and the batch
//! starts over.
//!
//! Rows found to be needed later are locked only if that needs no waiting. Otherwise the batch
//! rolls back and starts over with these rows among the first. So no batch waits for a row lower in
//! the order than one it holds, and no two batches wait for each other.

mod crossings;
mod lock;
mod parts;
mod plan;
mod round;
mod tree;

use std::collections::{BTreeSet, HashMap};

use segno_core::{
    footprint::Footprint,
    id::{HostName, PromiseId},
    time::Timestamp,
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _, postgres::PgRow};

pub(in crate::postgres) use self::lock::escaped;
pub use self::plan::{LoadStep, PLAN};
use self::round::WantedAdmissions;
use super::{
    claims::WriteStamp,
    failure::FailedStatement,
    fields::escape,
    statement::query,
    tables::{OWNED_STATEMENTS, STREAM_DATA_STATEMENTS},
    write::WrittenNames,
};
use crate::sql::{
    self, AFTER_PROMISE, Cache, CacheLevel, NAMED, OWNED, RowFields as _, SqlFailure,
    promise_columns, promise_tables, read,
};

/// Promises with their tasks, by number: those without a task, and those of awaiters.
const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.n = ANY($1::bigint[])",
);

/// The tasks claimed by hosts or workers.
const HELD_BY: &str = "
    SELECT p.n, p.id FROM tasks held JOIN promises p ON p.n = held.n
     WHERE held.node = ANY($1::text[]) AND held.state = 2";

/// Reason why rows were not loaded.
#[derive(Debug)]
pub(super) enum LoadFailure {
    Failed(FailedStatement),
    /// Another transaction has locked one of these rows, or inserted one of them in the meantime.
    /// The next attempt must lock them first.
    LockFirst(Box<Footprint>),
}

impl LoadFailure {
    /// Asks for these composites to be locked first.
    fn lock_first(composites: BTreeSet<PromiseId>) -> Self {
        Self::LockFirst(Box::new(Footprint { composites, ..Footprint::default() }))
    }
}

impl From<FailedStatement> for LoadFailure {
    fn from(failed: FailedStatement) -> Self {
        Self::Failed(failed)
    }
}

/// The rows locked by one transaction.
#[derive(Debug, Default)]
pub(super) struct LockedRows {
    /// Numbers of locked promises, by id; `None` if the promise does not exist.
    promises: HashMap<PromiseId, Option<i64>>,
    /// Numbers of the promises whose rows are in the cache.
    loaded: BTreeSet<i64>,
    /// Rows read without a lock.
    asked: Footprint,
    /// For each table in [`OWNED`], the invocations whose rows were read.
    asked_owners: [BTreeSet<PromiseId>; OWNED.len()],
    /// For each table in [`NAMED`], the names looked up.
    asked_names: [BTreeSet<String>; NAMED.len()],
    /// For each table in [`NAMED`], the names that exist and are locked.
    pub(super) named: [BTreeSet<String>; NAMED.len()],
    /// For each locked task, by number, the stamp of its row.
    pub(super) stamps: HashMap<i64, WriteStamp>,
    /// The database's time, known after the first load.
    pub(super) now: Option<Timestamp>,
    /// True if the store has large values.
    pub(super) has_large_values: bool,
    /// Number of statements sent.
    pub(super) statements: usize,
    /// True if the next load waits for locks of other transactions.
    may_wait: bool,
    /// True if promises of other databases may wait for promises of this one.
    crosses: bool,
    /// The epoch of the map of the shards in this database.
    pub(super) epoch: i64,
    /// The composites whose callbacks in other databases were read.
    crossing: BTreeSet<PromiseId>,
    /// The awaiters in other databases of the promises that were loaded.
    pub(super) awaiters_elsewhere: BTreeSet<PromiseId>,
}

impl LockedRows {
    /// No rows yet. The first load waits for locks if `may_wait` is true; `crosses` is true if the
    /// store has other databases.
    pub(super) fn new(may_wait: bool, crosses: bool) -> Self {
        Self { may_wait, crosses, ..Self::default() }
    }

    /// Records that these promises no longer exist.
    pub(super) fn forget(&mut self, gone: &BTreeSet<PromiseId>) {
        for id in gone {
            self.promises.insert(id.clone(), None);
        }
    }

    /// Records that this transaction created a promise.
    pub(super) fn made(&mut self, id: &PromiseId, number: i64) {
        self.promises.insert(id.clone(), Some(number));
    }

    /// Records the named rows that this transaction wrote: it holds their locks.
    pub(super) fn wrote(&mut self, names: WrittenNames) {
        self.named.iter_mut().zip(names).for_each(|(locked, names)| locked.extend(names));
    }

    /// Locks and loads `wanted`, which the cache does not hold. At most the first load of a
    /// transaction waits for locks of other transactions.
    pub(super) async fn load(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: Footprint,
    ) -> Result<(), LoadFailure> {
        let waits = std::mem::take(&mut self.may_wait);
        let ids = self.to_lock(&wanted);
        let (mut numbers, mut fresh) = (Vec::new(), BTreeSet::new());
        for read in PLAN {
            match read {
                LoadStep::LockNamed => {
                    self.lock_named(connection, cache, &wanted, waits).await?;
                }
                LoadStep::LockPromises => {
                    numbers = self.lock_promises(connection, &ids, waits).await?;
                }
                LoadStep::LockTasks => {
                    let tasks = self.lock_tasks(connection, &numbers, &ids, waits).await?;
                    fresh = self.put_tasks(cache, &numbers, &tasks)?;
                }
                LoadStep::Promises => self.load_promises(connection, cache, &fresh).await?,
                LoadStep::Rest { again } => {
                    self.load_parts(connection, cache, &wanted, again).await?;
                }
                LoadStep::Owned => {
                    self.load_owned(connection, cache, &wanted).await?;
                    self.load_stream_data(connection, cache, &wanted).await?;
                }
            }
        }
        for (invocation, from) in &wanted.tails {
            self.load_tail(connection, cache, invocation, *from).await?;
        }
        let (children, trees) = (wanted.children.clone(), wanted.trees.clone());
        let objects = wanted.promises_of.clone();
        let nodes = wanted.held_by.clone();
        let admissions = WantedAdmissions::of(&wanted);
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
        self.load_large_values(connection, cache).await?;
        Ok(())
    }

    /// Adds the large values of the promises that were loaded.
    async fn load_large_values(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
    ) -> Result<(), FailedStatement> {
        let failed = FailedStatement::of("load large values");
        let digests = cache.missing_chunks();
        self.statements += usize::from(!digests.is_empty());
        let chunks = read::chunks(connection, &digests).await.map_err(&failed)?;
        cache.complete(&chunks).map_err(&failed)
    }

    /// Stores the rows that the task-locking statement read. Returns the numbers of the promises
    /// that still have to be read.
    fn put_tasks(
        &mut self,
        cache: &mut Cache,
        numbers: &[i64],
        tasks: &[PgRow],
    ) -> Result<BTreeSet<i64>, FailedStatement> {
        let name = "lock tasks";
        let mut fresh: BTreeSet<i64> = numbers.iter().copied().collect();
        for row in tasks {
            let number: i64 = row.try_get(0).map_err(FailedStatement::of(name))?;
            let stamp = row.int(AFTER_PROMISE).map_err(FailedStatement::of(name))?;
            self.stamps.extend(stamp.map(|stamp| (number, WriteStamp(stamp))));
            // For a locked promise the row is current; for others, only the task is.
            if fresh.remove(&number) {
                sql::put_promise(cache, row, CacheLevel::Rows)
                    .map_err(FailedStatement::of(name))?;
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
    ) -> Result<(), FailedStatement> {
        let fresh: Vec<i64> = fresh.difference(&self.loaded).copied().collect();
        if fresh.is_empty() {
            return Ok(());
        }
        for row in &self.rows(connection, "load promises", PROMISES, &fresh).await? {
            sql::put_promise(cache, row, CacheLevel::Rows)
                .map_err(FailedStatement::of("load promises"))?;
        }
        self.loaded.extend(fresh);
        Ok(())
    }

    /// Loads the rows of these invocations, and of all invocations requested earlier, from the
    /// tables in [`OWNED_STATEMENTS`]. They are not locked.
    async fn load_owned(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), FailedStatement> {
        for (statements, invocations) in OWNED_STATEMENTS.iter().zip(&mut self.asked_owners) {
            invocations.extend((statements.of.wanted)(wanted).iter().cloned());
            if invocations.is_empty() {
                continue;
            }
            let name = statements.of.load;
            self.statements += 1;
            let query = query(connection, AssertSqlSafe(statements.load.as_str()));
            let query = query.bind(lock::escaped(&*invocations));
            for row in &connection.fetch_all(query).await.map_err(FailedStatement::of(name))? {
                sql::put_owned(cache, statements.of, row).map_err(FailedStatement::of(name))?;
            }
        }
        Ok(())
    }

    /// Loads the data of streams, whose rows are locked.
    async fn load_stream_data(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), FailedStatement> {
        if wanted.stream_data.is_empty() {
            return Ok(());
        }
        let name = "load the data of streams";
        let ids: Vec<_> = wanted.stream_data.iter().map(|id| escape(id.as_str())).collect();
        self.statements += 1;
        let query = query(connection, AssertSqlSafe(STREAM_DATA_STATEMENTS.load.as_str()));
        let query = query.bind(ids);
        for row in &connection.fetch_all(query).await.map_err(FailedStatement::of(name))? {
            let chunk = sql::stream_chunk(row).map_err(FailedStatement::of(name))?;
            cache.view.put_stream_chunk(chunk);
        }
        Ok(())
    }

    /// Locks the tasks that these hosts or workers hold. The set itself cannot be locked, so it is
    /// read again after locking.
    async fn load_held(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        nodes: &BTreeSet<HostName>,
    ) -> Result<(), LoadFailure> {
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
            false => Err(LoadFailure::lock_first(taken)),
        }
    }

    async fn held_by(
        &mut self,
        connection: &mut PgConnection,
        nodes: &BTreeSet<HostName>,
    ) -> Result<Vec<(i64, PromiseId)>, FailedStatement> {
        let name = "load the tasks of a host";
        let nodes: Vec<_> = nodes.iter().map(|node| escape(node.as_str())).collect();
        self.statements += 1;
        let query = query(connection, HELD_BY).bind(nodes);
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        let locked = |row: &PgRow| Ok((row.try_get(0)?, sql::id(row, 1)?));
        found
            .iter()
            .map(locked)
            .collect::<Result<_, SqlFailure>>()
            .map_err(FailedStatement::of(name))
    }

    async fn rows(
        &mut self,
        connection: &mut PgConnection,
        name: &'static str,
        statement: &'static str,
        numbers: &[i64],
    ) -> Result<Vec<PgRow>, FailedStatement> {
        self.statements += 1;
        let query = query(connection, statement).bind(numbers);
        connection.fetch_all(query).await.map_err(FailedStatement::of(name))
    }
}

/// Every statement with a search condition, for the tests of query plans.
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

/// The generated statement, for the test of its query plan.
#[cfg(test)]
pub(super) fn names_again() -> [String; 1] {
    [parts::PARTS_AND_NAMES.clone()]
}
