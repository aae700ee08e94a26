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

use std::collections::{BTreeSet, HashMap};

use segno_core::{
    footprint::{ChildPage, Footprint},
    id::{NodeName, PromiseId, ResourceName, ScheduleId},
    promise::OutboxKey,
    state::Tree,
    time::Timestamp,
};
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{
    failure::Failed,
    fields::escape,
    resources::{FACTS, LOCK_LEASES, LOCK_RESOURCES},
    schedules::LOCK_SCHEDULES,
};
use crate::store::{
    listing,
    sql::{self, Cache, Fields as _, Level, promise_columns, promise_tables},
};

/// Locks promises. Numbers never change, so everybody waits in the same order.
const LOCK_PROMISES: &str =
    "SELECT n, id FROM promises WHERE id = ANY($1::text[]) ORDER BY n FOR NO KEY UPDATE";

/// The same for those that nobody else holds; the second column counts all that exist.
const TRY_PROMISES: &str = "SELECT n, id FROM promises WHERE id = ANY($1::text[]) ORDER BY n FOR NO KEY UPDATE SKIP LOCKED";

const COUNT_PROMISES: &str = "SELECT count(*) FROM promises WHERE id = ANY($1::text[])";

/// The tasks of promises, and those that await one of them.
macro_rules! tasks_of {
    () => {
        "WHERE t.n = ANY (ARRAY (SELECT unnest($1::bigint[])
                                 UNION SELECT awaiter FROM callbacks WHERE awaited = ANY($1::bigint[]))) "
    };
}

/// Locks tasks and reads them as they are then. With them come their promises, as they were when the statement began:
/// as they are, for those that are locked already, and a guess for those of who awaits.
macro_rules! lock_tasks {
    () => {
        concat!(
            "SELECT ",
            promise_columns!(),
            "FROM tasks t JOIN promises p ON p.n = t.n LEFT JOIN promises m ON m.n = p.made_by \
             LEFT JOIN modules d ON d.n = t.module ",
            tasks_of!(),
            "ORDER BY t.n FOR NO KEY UPDATE OF t ",
        )
    };
}

const LOCK_TASKS: &str = lock_tasks!();

const TRY_TASKS: &str = concat!(lock_tasks!(), "SKIP LOCKED");

const COUNT_TASKS: &str = concat!("SELECT count(*) FROM tasks t ", tasks_of!());

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

/// A page of the pending children of an invocation.
const CHILDREN: &str = "
    SELECT id FROM promises WHERE made_by = $1 AND state = 0 AND attached = 1 AND id > $2 ORDER BY id LIMIT $3";

/// A promise and everything made by its members, at most so many.
const TREE: &str = "
    WITH RECURSIVE tree (n) AS (
        SELECT n FROM promises WHERE id = $1
         UNION ALL
        SELECT made.n FROM tree JOIN promises made ON made.made_by = tree.n)
    SELECT promises.id FROM (SELECT n FROM tree LIMIT $2) AS members JOIN promises USING (n)";

/// All messages about these promises.
const OWED: &str = "
    SELECT promises.n, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = outbox.source WHERE outbox.source = ANY($1::bigint[])";

/// Everything else, whatever it is: the first column says what a row is.
///
/// ```text
/// what                id        first      text     second    third     fourth    bytes    head
/// 0 the time                    now
/// 1 callback          awaited   its n      awaiter  its n     consumed
/// 2 listener          awaited              address
/// 3 message           source    kind       part     next_at   created   attempts  message
/// 4 end of a journal  its inv                                                              end_seq … finished
/// 5 module                                                                        digest
/// 6 alias             name                                                        digest
/// 7 host              node      lives
/// 8 signal's key      its inv   number     key
/// ```
const PARTS: &str = "
    SELECT 0, NULL, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL, NULL::bigint, NULL::bigint,
           NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint
     UNION ALL
    SELECT 1, awaited.id, awaited.n, awaiter.id, awaiter.n, consumed, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaited = ANY($1::bigint[])
     UNION ALL
    SELECT 1, awaited.id, awaited.n, awaiter.id, awaiter.n, consumed, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaiter = ANY($1::bigint[])
     UNION ALL
    SELECT 2, promises.id, NULL, address, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM listeners JOIN promises ON promises.n = listeners.awaited
     WHERE listeners.awaited = ANY($1::bigint[])
     UNION ALL
    SELECT 3, promises.id, kind, part, next_at, outbox.created_at, attempts, message, NULL, NULL, NULL, NULL, NULL
      FROM outbox JOIN promises ON promises.n = outbox.source
     WHERE outbox.source = ANY($1::bigint[]) AND outbox.kind = 1
     UNION ALL
    SELECT 4, promises.id, NULL, NULL, NULL, NULL, NULL, NULL, last.end_seq, last.commands, last.notified, last.at,
           last.finished
      FROM promises
      JOIN LATERAL (SELECT * FROM journal WHERE inv = promises.n ORDER BY first_seq DESC LIMIT 1) last ON true
     WHERE promises.n = ANY($1::bigint[])
     UNION ALL
    SELECT 5, NULL, NULL, NULL, NULL, NULL, NULL, digest, NULL, NULL, NULL, NULL, NULL
      FROM modules WHERE digest = ANY($2::bytea[])
     UNION ALL
    SELECT 6, name, NULL, NULL, NULL, NULL, NULL, digest, NULL, NULL, NULL, NULL, NULL
      FROM aliases JOIN modules ON modules.n = aliases.module WHERE name = ANY($3::text[])
     UNION ALL
    SELECT 7, node, incarnation, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM hosts WHERE node = ANY($4::text[])
     UNION ALL
    SELECT 3, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message, NULL, NULL, NULL,
           NULL, NULL
      FROM unnest($5::text[], $6::bigint[], $7::text[]) AS wanted (source, kind, part)
      JOIN promises ON promises.id = wanted.source
      JOIN outbox ON outbox.source = promises.n AND outbox.kind = wanted.kind AND outbox.part = wanted.part
     UNION ALL
    SELECT 8, promises.id, number, signal_keys.key, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM unnest($8::text[], $9::text[]) AS wanted (inv, key)
      JOIN promises ON promises.id = wanted.inv
      JOIN signal_keys ON signal_keys.inv = promises.n AND signal_keys.key = wanted.key";

/// The rows of a journal that hold records from a place on.
const TAIL: &str = "
    SELECT records FROM journal
     WHERE inv = $1 AND end_seq > $2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = $1 AND first_seq <= $2)
     ORDER BY first_seq";

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
            let number: i64 = row.try_get(0).map_err(Failed::of("lock tasks"))?;
            // Whose promise is locked can be taken as it came; of the others only the task is certain.
            if fresh.remove(&number) {
                put_promise(cache, row).map_err(Failed::of("lock tasks"))?;
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

    async fn lock_schedules(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), Failed> {
        if wanted.schedules.is_empty() {
            return Ok(());
        }
        let name = "lock schedules";
        let ids: Vec<_> = wanted.schedules.iter().map(|id| escape(id.as_str())).collect();
        self.statements += 1;
        let query = sqlx::query(LOCK_SCHEDULES).bind(ids);
        for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
            let schedule = sql::schedule(row).map_err(Failed::of(name))?;
            self.schedules.insert(schedule.id.clone());
            cache.state.put_schedule(schedule);
        }
        Ok(())
    }

    async fn lock_resources(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), Failed> {
        if wanted.resources.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = wanted.resources.iter().map(|name| escape(name.as_str())).collect();
        let name = "lock resources";
        self.statements += 2;
        let query = sqlx::query(LOCK_RESOURCES).bind(&names);
        for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
            let resource = sql::resource(row, 0).map_err(Failed::of(name))?;
            self.resources.insert(resource.name.clone());
            cache.state.put_resource(resource);
        }
        let name = "lock leases on resources";
        let query = sqlx::query(LOCK_LEASES).bind(&names);
        for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
            let lease = sql::lease(row, 0).map_err(Failed::of(name))?;
            self.leases.insert(lease.name.clone());
            cache.state.put_resource_lease(lease);
        }
        Ok(())
    }

    /// The promises whose rows are asked for, or guard what is asked for.
    fn to_lock(&self, wanted: &Footprint) -> Vec<PromiseId> {
        let mut ids: BTreeSet<&PromiseId> = wanted.composites.iter().chain(&wanted.rows).collect();
        ids.extend(wanted.outbox.iter().map(OutboxKey::promise));
        ids.extend(wanted.tails.keys().chain(wanted.children.keys()));
        ids.extend(wanted.signal_keys.iter().map(|(invocation, _)| invocation));
        ids.into_iter().filter(|id| !self.promises.contains_key(*id)).cloned().collect()
    }

    /// Locks promises. Answers the numbers of those that exist.
    async fn lock_promises(
        &mut self,
        connection: &mut PgConnection,
        ids: &[PromiseId],
        waits: bool,
    ) -> Result<Vec<i64>, NotLoaded> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let name = "lock promises";
        let texts = escaped(ids);
        let statement = if waits { LOCK_PROMISES } else { TRY_PROMISES };
        self.statements += 1;
        let query = sqlx::query(statement).bind(&texts);
        let found = connection.fetch_all(query).await.map_err(Failed::of(name))?;
        if !waits {
            let query = sqlx::query(COUNT_PROMISES).bind(&texts);
            self.check_count(connection, query, found.len(), ids).await?;
        }
        self.promises.extend(ids.iter().map(|id| (id.clone(), None)));
        let mut numbers = Vec::with_capacity(found.len());
        for row in &found {
            let number = row.try_get(0).map_err(Failed::of(name))?;
            let id = sql::id(row, 1).map_err(Failed::of(name))?;
            self.promises.insert(id, Some(number));
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Locks the tasks of promises that are locked, and of those who await them.
    async fn lock_tasks(
        &mut self,
        connection: &mut PgConnection,
        numbers: &[i64],
        ids: &[PromiseId],
        waits: bool,
    ) -> Result<Vec<PgRow>, NotLoaded> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let name = "lock tasks";
        let statement = if waits { LOCK_TASKS } else { TRY_TASKS };
        let found = self.rows(connection, name, statement, numbers).await?;
        if !waits {
            let query = sqlx::query(COUNT_TASKS).bind(numbers);
            self.check_count(connection, query, found.len(), ids).await?;
        }
        Ok(found)
    }

    /// Whether all of `ids` that exist are held now.
    async fn check_count(
        &mut self,
        connection: &mut PgConnection,
        query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
        held: usize,
        ids: &[PromiseId],
    ) -> Result<(), NotLoaded> {
        self.statements += 1;
        let row = connection.fetch_one(query).await.map_err(Failed::of("count rows"))?;
        let all: i64 = row.try_get(0).map_err(Failed::of("count rows"))?;
        match all == held as i64 {
            true => Ok(()),
            false => Err(NotLoaded::Held(ids.iter().cloned().collect())),
        }
    }

    async fn load_parts(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
    ) -> Result<(), Failed> {
        let name = "load composites";
        let composites: Vec<i64> =
            wanted.composites.iter().filter_map(|id| *self.promises.get(id)?).collect();
        let modules: Vec<_> = wanted.modules.iter().map(|digest| digest.0.to_vec()).collect();
        let aliases: Vec<_> = wanted.aliases.iter().map(|name| escape(name.as_str())).collect();
        let hosts: Vec<_> = wanted.hosts.iter().map(|node| escape(node.as_str())).collect();
        let mut keys = (Vec::new(), Vec::new(), Vec::new());
        for key in &wanted.outbox {
            let (kind, part) = listing::outbox_order(key);
            keys.0.push(escape(key.promise().as_str()));
            keys.1.push(kind);
            keys.2.push(escape(&part).into_owned());
        }
        let signals: Vec<_> =
            wanted.signal_keys.iter().map(|(id, _)| escape(id.as_str())).collect();
        let names: Vec<_> =
            wanted.signal_keys.iter().map(|(_, key)| escape(key.as_str())).collect();
        self.statements += 1;
        let query = sqlx::query(PARTS)
            .bind(composites)
            .bind(modules)
            .bind(aliases)
            .bind(hosts)
            .bind(keys.0)
            .bind(keys.1)
            .bind(keys.2)
            .bind(signals)
            .bind(names);
        for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
            self.put_part(cache, row).map_err(Failed::of(name))?;
        }
        // A message may be about a promise of which nothing else is asked.
        for key in &wanted.outbox {
            let number = self.promises.get(key.promise()).copied().flatten();
            cache.know(key.promise(), number, Level::Number);
        }
        Ok(())
    }

    fn put_part(&mut self, cache: &mut Cache, row: &PgRow) -> Result<(), sqlx::Error> {
        match row.int(0)? {
            Some(0) => self.now = self.now.or(row.int(2)?.map(Timestamp)),
            Some(1) => {
                let (awaited, awaiter) = (sql::id(row, 1)?, sql::id(row, 3)?);
                cache.know(&awaited, row.int(2)?, Level::Number);
                cache.know(&awaiter, row.int(4)?, Level::Number);
                cache.state.put_callback(awaited, awaiter, row.int(5)? == Some(1));
            }
            Some(2) => cache.state.put_listener(sql::id(row, 1)?, sql::text(row, 3)?),
            Some(3) => {
                let (key, message) = sql::outbox(row, 2, &sql::id(row, 1)?)?;
                cache.state.put_outbox(key, message);
            }
            Some(4) => {
                let invocation = sql::id(row, 1)?;
                let head = sql::head(row, 8, &invocation)?;
                cache.state.put_head(invocation, head);
            }
            Some(5) => cache.state.put_module(sql::digest_at(row, 7)?),
            Some(6) => cache.state.put_alias(sql::text(row, 1)?, sql::digest_at(row, 7)?),
            Some(7) => {
                let node = NodeName::new(sql::text(row, 1)?.as_str());
                let lives = row.int(2)?.unwrap_or_default().cast_unsigned();
                cache.state.put_host(node, lives);
            }
            _ => {
                let invocation = sql::id(row, 1)?;
                let number = u32::try_from(row.int(2)?.unwrap_or_default()).unwrap_or(u32::MAX);
                cache.state.put_signal_key(invocation, sql::text(row, 3)?, number);
            }
        }
        Ok(())
    }

    async fn load_tail(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        invocation: &PromiseId,
        from: u32,
    ) -> Result<(), Failed> {
        let name = "load the end of a journal";
        let Some(Some(number)) = self.promises.get(invocation) else { return Ok(()) };
        self.statements += 1;
        let query = sqlx::query(TAIL).bind(number).bind(i64::from(from));
        let mut tail = Vec::new();
        for row in &connection.fetch_all(query).await.map_err(Failed::of(name))? {
            tail.extend(sql::records(row, 0, invocation).map_err(Failed::of(name))?);
        }
        tail.retain(|record| record.seq >= from);
        cache.state.put_tail(invocation.clone(), tail);
        Ok(())
    }

    /// A page of children as whole composites. Who settles meanwhile would leave the page short, as if it were the
    /// last: so it is read again once all of it is held.
    async fn load_children(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        parent: &PromiseId,
        page: &ChildPage,
    ) -> Result<(), NotLoaded> {
        let Some(&Some(number)) = self.promises.get(parent) else { return Ok(()) };
        let composites = self.children(connection, number, page).await?;
        if composites.is_empty() {
            return Ok(());
        }
        let wanted = Footprint { composites: composites.clone(), ..Footprint::default() };
        let missing = cache.missing(wanted);
        if !missing.is_empty() {
            Box::pin(self.load(connection, cache, missing)).await?;
        }
        match self.children(connection, number, page).await? == composites {
            true => Ok(()),
            false => Err(NotLoaded::Held(composites)),
        }
    }

    /// A tree as whole composites, with all messages about its members. Like a page of children, it is read again once
    /// all of it is held.
    async fn load_tree(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        top: &PromiseId,
        limit: u32,
    ) -> Result<(), NotLoaded> {
        let tree = self.tree(connection, top, limit).await?;
        if !tree.whole {
            // Nothing of it will go, so only its top is of interest.
            let wanted =
                Footprint { composites: BTreeSet::from([top.clone()]), ..Footprint::default() };
            let missing = cache.missing(wanted);
            if !missing.is_empty() {
                Box::pin(self.load(connection, cache, missing)).await?;
            }
        } else {
            let wanted = Footprint { composites: tree.members.clone(), ..Footprint::default() };
            let missing = cache.missing(wanted);
            if !missing.is_empty() {
                Box::pin(self.load(connection, cache, missing)).await?;
            }
            if self.tree(connection, top, limit).await? != tree {
                return Err(NotLoaded::Held(tree.members));
            }
        }
        let name = "load messages";
        let members = tree.members.iter().filter_map(|id| *self.promises.get(id)?);
        let members: Vec<i64> = members.collect();
        for row in &self.rows(connection, name, OWED, &members).await? {
            put_message(cache, row).map_err(Failed::of(name))?;
        }
        cache.state.put_tree(top.clone(), tree);
        Ok(())
    }

    async fn tree(
        &mut self,
        connection: &mut PgConnection,
        top: &PromiseId,
        limit: u32,
    ) -> Result<Tree, Failed> {
        let name = "load a tree";
        self.statements += 1;
        // One more than asked for, to know whether there is more.
        let query = sqlx::query(TREE).bind(escape(top.as_str())).bind(i64::from(limit) + 1);
        let found = connection.fetch_all(query).await.map_err(Failed::of(name))?;
        let whole = found.len() <= limit as usize;
        let members = found.iter().take(limit as usize).map(|row| sql::id(row, 0));
        let members = members.collect::<Result<_, _>>().map_err(Failed::of(name))?;
        Ok(Tree { members, whole })
    }

    async fn children(
        &mut self,
        connection: &mut PgConnection,
        parent: i64,
        page: &ChildPage,
    ) -> Result<BTreeSet<PromiseId>, Failed> {
        let name = "load children";
        let after = page.after.as_ref().map_or("", PromiseId::as_str);
        self.statements += 1;
        let query =
            sqlx::query(CHILDREN).bind(parent).bind(escape(after)).bind(i64::from(page.limit));
        let found = connection.fetch_all(query).await.map_err(Failed::of(name))?;
        found.iter().map(|row| sql::id(row, 0)).collect::<Result<_, _>>().map_err(Failed::of(name))
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

fn put_message(cache: &mut Cache, row: &PgRow) -> Result<(), sqlx::Error> {
    let source = sql::id(row, 1)?;
    cache.know(&source, row.int(0)?, Level::Number);
    let (key, message) = sql::outbox(row, 2, &source)?;
    cache.state.put_outbox(key, message);
    Ok(())
}

fn escaped(ids: &[PromiseId]) -> Vec<String> {
    ids.iter().map(|id| escape(id.as_str()).into_owned()).collect()
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
    LOCK_SCHEDULES,
    LOCK_PROMISES,
    TRY_PROMISES,
    COUNT_PROMISES,
    LOCK_TASKS,
    TRY_TASKS,
    COUNT_TASKS,
    PROMISES,
    CHILDREN,
    PARTS,
    TAIL,
];
