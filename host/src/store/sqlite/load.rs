//! Loads the rows that a decision reads into the writer's memory: a few statements, whatever number of promises.

use futures::TryStreamExt as _;
use segno_core::{
    footprint::{ChildPage, Footprint},
    id::{NodeName, PromiseId},
    promise::OutboxKey,
    state::Tree,
};
use sqlx::{Executor as _, Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{resources, schedules, statement::Failed};
use crate::store::{
    listing,
    sql::{self, Cache, Level, promise_columns, promise_tables},
};

/// Promises and their tasks, by ids.
const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN promises p ON p.id = wanted.value ",
    promise_tables!(),
);

/// The tasks that a host holds, with their promises.
const HELD_BY: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN tasks held ON held.node = wanted.value AND held.state = 2
     JOIN promises p ON p.n = held.n ",
    promise_tables!(),
);

/// A page of the pending children of an invocation.
const CHILDREN: &str = concat!(
    "SELECT ", promise_columns!(),
    "FROM promises p ", promise_tables!(),
    "WHERE p.made_by = (SELECT n FROM promises WHERE id = ?1) AND p.state = 0 AND p.attached = 1 AND p.id > ?2
     ORDER BY p.id LIMIT ?3",
);

/// A promise and everything made by its members, at most so many.
const TREE: &str = concat!(
    "WITH RECURSIVE tree (n) AS (
         SELECT n FROM promises WHERE id = ?1
          UNION ALL
         SELECT made.n FROM tree JOIN promises made ON made.made_by = tree.n
          LIMIT ?2)
     SELECT ",
    promise_columns!(),
    "FROM tree JOIN promises p ON p.n = tree.n ",
    promise_tables!(),
);

/// All messages about these promises, by numbers.
const OWED: &str = "
    SELECT promises.n, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN outbox ON outbox.source = wanted.value
      JOIN promises ON promises.n = outbox.source";

/// The rest of composites, by numbers: callbacks on them and by them, listeners, execute messages, ends of journals.
/// The first column says which.
const COMPOSITES: &str = "
    SELECT 1, awaited.n, awaited.id, awaiter.n, awaiter.id, consumed
      FROM json_each(?1) wanted JOIN callbacks ON callbacks.awaited = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter;
    SELECT 1, awaited.n, awaited.id, awaiter.n, awaiter.id, consumed
      FROM json_each(?1) wanted JOIN callbacks ON callbacks.awaiter = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter;
    SELECT 2, promises.id, address
      FROM json_each(?1) wanted JOIN listeners ON listeners.awaited = wanted.value
      JOIN promises ON promises.n = listeners.awaited;
    SELECT 3, promises.id, kind, part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN outbox ON outbox.source = wanted.value AND outbox.kind = 1
      JOIN promises ON promises.n = outbox.source;
    SELECT 4, promises.id, end_seq, commands, notified, at, finished
      FROM json_each(?1) wanted
      JOIN journal ON journal.n =
           (SELECT n FROM journal WHERE inv = wanted.value ORDER BY first_seq DESC LIMIT 1)
      JOIN promises ON promises.n = journal.inv";

/// Messages, by (id, kind, part).
const OUTBOX: &str = "
    SELECT promises.n, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN promises ON promises.id = wanted.value ->> 0
      JOIN outbox ON outbox.source = promises.n AND outbox.kind = wanted.value ->> 1
                 AND outbox.part = wanted.value ->> 2";

/// Keys of signals, by (id, key).
const SIGNAL_KEYS: &str = "
    SELECT promises.id, signal_keys.key, number
      FROM json_each(?1) wanted JOIN promises ON promises.id = wanted.value ->> 0
      JOIN signal_keys ON signal_keys.inv = promises.n AND signal_keys.key = wanted.value ->> 1";

/// The rows of a journal that hold records from a place on.
const TAIL: &str = "
    SELECT records FROM journal
     WHERE inv = ?1 AND end_seq > ?2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = ?1 AND first_seq <= ?2)
     ORDER BY first_seq";

/// What is always held.
const GLOBALS: &str = "
    SELECT 1, n, digest FROM modules;
    SELECT 2, name, digest FROM aliases JOIN modules ON modules.n = aliases.module;
    SELECT 3, node, incarnation FROM hosts;
    SELECT 4, ifnull(max(n), 0) + 1 FROM promises";

/// A cache with what is always held, and nothing else.
pub(super) async fn begin(connection: &mut SqliteConnection) -> Result<Cache, Failed> {
    let mut cache = Cache::default();
    cache.holds_globals = true;
    let failed = |source| Failed { statement: "load modules, aliases and hosts", source };
    let found = connection.fetch_all(sqlx::query(GLOBALS)).await.map_err(failed)?;
    found.iter().try_for_each(|row| put_global(&mut cache, row)).map_err(failed)?;
    Ok(cache)
}

/// Loads `wanted`, which is not held.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    cache: &mut Cache,
    wanted: Footprint,
) -> Result<(), Failed> {
    let mut composites = Vec::new();
    if !(wanted.composites.is_empty() && wanted.rows.is_empty()) {
        let ids: Vec<_> = wanted.composites.iter().chain(&wanted.rows).collect();
        let found = fetch(connection, "load promises", PROMISES, &ids).await?;
        for row in &found {
            let level = Level::Rows;
            let (number, id) = put_promise(cache, row, level).map_err(damaged("load promises"))?;
            if wanted.composites.contains(&id) {
                composites.push(number);
            }
        }
    }
    for (parent, page) in &wanted.children {
        composites.extend(load_children(connection, cache, parent, page).await?);
    }
    for (top, limit) in &wanted.trees {
        composites.extend(load_tree(connection, cache, top, *limit).await?);
    }
    if !composites.is_empty() {
        let name = "load composites";
        let found = fetch(connection, name, COMPOSITES, &composites).await?;
        found.iter().try_for_each(|row| put_part(cache, row)).map_err(damaged(name))?;
    }
    for (invocation, from) in &wanted.tails {
        load_tail(connection, cache, invocation, *from).await?;
    }
    if !wanted.outbox.is_empty() {
        let name = "load messages";
        let keys: Vec<_> = wanted.outbox.iter().map(outbox_key).collect();
        let found = fetch(connection, name, OUTBOX, &keys).await?;
        found.iter().try_for_each(|row| put_message(cache, row)).map_err(damaged(name))?;
    }
    if !wanted.signal_keys.is_empty() {
        let name = "load signal keys";
        let keys: Vec<_> = wanted.signal_keys.iter().map(|(id, key)| (id, key)).collect();
        let found = fetch(connection, name, SIGNAL_KEYS, &keys).await?;
        found.iter().try_for_each(|row| put_signal_key(cache, row)).map_err(damaged(name))?;
    }
    if !wanted.schedules.is_empty() {
        let name = "load schedules";
        let ids: Vec<_> = wanted.schedules.iter().collect();
        for row in &fetch(connection, name, schedules::SCHEDULES, &ids).await? {
            cache.state.put_schedule(sql::schedule(row).map_err(damaged(name))?);
        }
    }
    if !wanted.resources.is_empty() {
        let name = "load resources";
        let names: Vec<_> = wanted.resources.iter().collect();
        let found = fetch(connection, name, resources::RESOURCES, &names).await?;
        found.iter().try_for_each(|row| put_resource(cache, row)).map_err(damaged(name))?;
    }
    if !wanted.facts.is_empty() {
        let name = "load the facts of sagas";
        let ids: Vec<_> = wanted.facts.iter().collect();
        let found = fetch(connection, name, resources::FACTS, &ids).await?;
        found.iter().try_for_each(|row| sql::put_fact(cache, row)).map_err(damaged(name))?;
    }
    if !wanted.held_by.is_empty() {
        let name = "load the tasks of a host";
        let nodes: Vec<_> = wanted.held_by.iter().collect();
        for row in &fetch(connection, name, HELD_BY, &nodes).await? {
            put_promise(cache, row, Level::Rows).map_err(damaged(name))?;
        }
    }
    cache.loaded(wanted);
    Ok(())
}

async fn load_children(
    connection: &mut SqliteConnection,
    cache: &mut Cache,
    parent: &PromiseId,
    page: &ChildPage,
) -> Result<Vec<i64>, Failed> {
    let name = "load children";
    let after = page.after.as_ref().map_or("", PromiseId::as_str);
    let query = sqlx::query(CHILDREN).bind(parent.as_str()).bind(after).bind(page.limit);
    let found = connection.fetch_all(query).await.map_err(damaged(name))?;
    let mut numbers = Vec::with_capacity(found.len());
    for row in &found {
        let (number, _) = put_promise(cache, row, Level::Composite).map_err(damaged(name))?;
        numbers.push(number);
    }
    Ok(numbers)
}

async fn load_tree(
    connection: &mut SqliteConnection,
    cache: &mut Cache,
    top: &PromiseId,
    limit: u32,
) -> Result<Vec<i64>, Failed> {
    let name = "load a tree";
    // One more than asked for, to know whether there is more.
    let query = sqlx::query(TREE).bind(top.as_str()).bind(i64::from(limit) + 1);
    let found = connection.fetch_all(query).await.map_err(damaged(name))?;
    let mut tree = Tree { whole: found.len() <= limit as usize, ..Tree::default() };
    let mut numbers = Vec::with_capacity(found.len());
    for row in found.iter().take(limit as usize) {
        let (number, id) = put_promise(cache, row, Level::Composite).map_err(damaged(name))?;
        numbers.push(number);
        tree.members.insert(id);
    }
    cache.state.put_tree(top.clone(), tree);
    for row in &fetch(connection, name, OWED, &numbers).await? {
        put_message(cache, row).map_err(damaged(name))?;
    }
    Ok(numbers)
}

async fn load_tail(
    connection: &mut SqliteConnection,
    cache: &mut Cache,
    invocation: &PromiseId,
    from: u32,
) -> Result<(), Failed> {
    let name = "load the end of a journal";
    let Some(number) = cache.number(invocation) else { return Ok(()) };
    let query = sqlx::query(TAIL).bind(number).bind(from);
    let found = connection.fetch_all(query).await.map_err(damaged(name))?;
    let mut tail = Vec::new();
    for row in &found {
        tail.extend(sql::records(row, 0, invocation).map_err(damaged(name))?);
    }
    tail.retain(|record| record.seq >= from);
    cache.state.put_tail(invocation.clone(), tail);
    Ok(())
}

/// All rows of a statement (or of several) that takes a list as JSON.
async fn fetch(
    connection: &mut SqliteConnection,
    statement: &'static str,
    text: &'static str,
    wanted: &impl serde::Serialize,
) -> Result<Vec<SqliteRow>, Failed> {
    let wanted = serde_json::to_string(wanted).expect("lists of texts and numbers are JSON");
    let found = connection.fetch(sqlx::query(text).bind(wanted));
    found.try_collect().await.map_err(|source| Failed { statement, source })
}

fn damaged(statement: &'static str) -> impl Fn(sqlx::Error) -> Failed {
    move |source| Failed { statement, source }
}

fn outbox_key(key: &OutboxKey) -> (&PromiseId, i64, String) {
    let (kind, part) = listing::outbox_order(key);
    (key.promise(), kind, part)
}

fn put_global(cache: &mut Cache, row: &SqliteRow) -> Result<(), sqlx::Error> {
    match row.try_get::<i64, _>(0)? {
        1 => {
            let digest = sql::digest_at(row, 2)?;
            cache.modules.insert(digest, row.try_get(1)?);
            cache.state.put_module(digest);
        }
        2 => cache.state.put_alias(sql::text(row, 1)?, sql::digest_at(row, 2)?),
        3 => {
            let node = NodeName::new(row.try_get::<&str, _>(1)?);
            cache.state.put_host(node, row.try_get::<i64, _>(2)?.cast_unsigned());
        }
        _ => cache.next_number = row.try_get(1)?,
    }
    Ok(())
}

fn put_promise(
    cache: &mut Cache,
    row: &SqliteRow,
    level: Level,
) -> Result<(i64, PromiseId), sqlx::Error> {
    let (number, promise) = sql::promise(row)?;
    let id = promise.id().clone();
    if let Some(task) = sql::task(row, &id)? {
        cache.state.put_task(task);
    }
    cache.state.put_promise(promise);
    cache.know(&id, Some(number), level);
    Ok((number, id))
}

fn put_part(cache: &mut Cache, row: &SqliteRow) -> Result<(), sqlx::Error> {
    match row.try_get::<i64, _>(0)? {
        1 => {
            let (awaited, awaiter) = (sql::id(row, 2)?, sql::id(row, 4)?);
            cache.know(&awaited, row.try_get(1)?, Level::Number);
            cache.know(&awaiter, row.try_get(3)?, Level::Number);
            cache.state.put_callback(awaited, awaiter, row.try_get(5)?);
        }
        2 => cache.state.put_listener(sql::id(row, 1)?, sql::text(row, 2)?),
        3 => {
            let (key, message) = sql::outbox(row, 2, &sql::id(row, 1)?)?;
            cache.state.put_outbox(key, message);
        }
        _ => {
            let invocation = sql::id(row, 1)?;
            let head = sql::head(row, 2, &invocation)?;
            cache.state.put_head(invocation, head);
        }
    }
    Ok(())
}

fn put_message(cache: &mut Cache, row: &SqliteRow) -> Result<(), sqlx::Error> {
    let source = sql::id(row, 1)?;
    cache.know(&source, row.try_get(0)?, Level::Number);
    let (key, message) = sql::outbox(row, 2, &source)?;
    cache.state.put_outbox(key, message);
    Ok(())
}

fn put_resource(cache: &mut Cache, row: &SqliteRow) -> Result<(), sqlx::Error> {
    match row.try_get::<i64, _>(0)? {
        1 => cache.state.put_resource(sql::resource(row, 1)?),
        _ => cache.state.put_resource_lease(sql::lease(row, 1)?),
    }
    Ok(())
}

fn put_signal_key(cache: &mut Cache, row: &SqliteRow) -> Result<(), sqlx::Error> {
    cache.state.put_signal_key(sql::id(row, 0)?, sql::text(row, 1)?, row.try_get(2)?);
    Ok(())
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 9] =
    [PROMISES, HELD_BY, CHILDREN, TREE, OWED, COMPOSITES, OUTBOX, SIGNAL_KEYS, TAIL];
