//! Loads the rows that a decision reads into the writer's cache, with a few statements for any
//! number of promises.

use std::sync::LazyLock;

use segno_core::{
    footprint::{Footprint, TREE_LIMIT},
    id::{HostName, ObjectId, PromiseId, Version},
    invocation::Record,
    limit::PartitionId,
    promise::OutboxKey,
    unreadable::Subject,
    value::Text,
    view::TreeMembers,
};

use super::{
    connection::{Connection, FailedStatement},
    journal_buffer::JournalBuffer,
    large_values,
    tables::{NAMED_STATEMENTS, OWNED_STATEMENTS, STREAM_DATA_STATEMENTS},
    writer_cache::WriterCache,
};
use crate::{
    order,
    sql::{
        self, Cache, CacheLevel, NAMED, RowFields, SqlFailure,
        large_value::{ChunkList, ChunkSet},
        module_facts_column, promise_columns, promise_tables, round, table,
    },
};

/// Promises with their tasks, by id.
const PROMISES: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN promises p ON p.id = wanted.value ",
    promise_tables!(),
);

/// The tasks that a host has claimed, with their promises.
const HELD_BY: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM json_each(?1) wanted JOIN tasks held ON held.node = wanted.value AND held.state = 2
     JOIN promises p ON p.n = held.n ",
    promise_tables!(),
);

/// A page of the pending children of an invocation; optionally only those without a cancellation
/// request.
const CHILDREN: &str = concat!(
    "SELECT ", promise_columns!(),
    "FROM promises p ", promise_tables!(),
    "WHERE p.made_by = (SELECT n FROM promises WHERE id = ?1) AND p.state = 0 AND p.attached = 1 AND p.id > ?2
       AND (?4 = 0 OR ifnull(t.cancel, 0) = 0)
     ORDER BY p.id LIMIT ?3",
);

/// A promise and all its descendants, up to a limit.
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

/// The promises with ids between two bounds that no invocation made, up to a limit.
const PROMISES_BETWEEN: &str = concat!(
    "SELECT ",
    promise_columns!(),
    "FROM promises p ",
    promise_tables!(),
    "WHERE p.id > ?1 AND p.id < ?2 AND p.made_by IS NULL ORDER BY p.id LIMIT ?3",
);

/// All messages about these promises, by number.
const OWED: &str = "
    SELECT promises.n, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN outbox ON outbox.source = wanted.value
      JOIN promises ON promises.n = outbox.source";

/// Callbacks on promises, by number.
const CALLBACKS_ON: &str = "
    SELECT awaited.n, awaited.id, awaiter.n, awaiter.id, consumed
      FROM json_each(?1) wanted JOIN callbacks ON callbacks.awaited = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

/// Callbacks of tasks, by number.
const CALLBACKS_OF: &str = "
    SELECT awaited.n, awaited.id, awaiter.n, awaiter.id, consumed
      FROM json_each(?1) wanted JOIN callbacks ON callbacks.awaiter = wanted.value
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

/// Listeners of promises, by number.
const LISTENERS: &str = "
    SELECT promises.id, address
      FROM json_each(?1) wanted JOIN listeners ON listeners.awaited = wanted.value
      JOIN promises ON promises.n = listeners.awaited";

/// Execute messages, by number of the promise.
const EXECUTES: &str = "
    SELECT promises.n, promises.id, kind, part, next_at, outbox.created_at, attempts, message
      FROM json_each(?1) wanted JOIN outbox ON outbox.source = wanted.value AND outbox.kind = 1
      JOIN promises ON promises.n = outbox.source";

/// Journal heads, by number of the promise.
const HEADS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished
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

/// The journal rows that hold records from a given position on.
const TAIL: &str = "
    SELECT records FROM journal
     WHERE inv = ?1 AND end_seq > ?2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = ?1 AND first_seq <= ?2)
     ORDER BY first_seq";

const MODULES: &str = concat!("SELECT n, digest, ", module_facts_column!(), " FROM modules");
const ALIASES: &str = "SELECT name, digest FROM aliases JOIN modules ON modules.n = aliases.module";
const HOSTS: &str = "SELECT node, incarnation FROM hosts";
static LIMITS: LazyLock<String> = LazyLock::new(|| {
    let limits = NAMED.iter().find(|named| named.table.name == "limits");
    let columns = limits.map_or("", |limits| limits.table.columns);
    format!("SELECT {columns} FROM limits")
});
const FIRST_VERSION: &str = "SELECT version FROM first_version";
const NEXT_NUMBER: &str = "SELECT ifnull(max(n), 0) + 1 FROM promises";

/// Creates a cache with the rows that are always held.
pub(super) fn begin(connection: &mut Connection) -> Result<Cache, FailedStatement> {
    let mut cache = Cache::default();
    cache.holds_globals = true;
    // An unreadable row counts as missing: commands that need it are refused with its name.
    let passed = |error| sql::unreadable(error).map(drop);
    connection.read("load modules", MODULES, [], |row| {
        let read = sql::module_facts(row, 1, 2).and_then(|module| Ok((module, int(row, 0)?)));
        read.map_or_else(passed, |((digest, facts), number)| {
            cache.modules.insert(digest, number);
            cache.view.put_module_facts(digest, facts);
            Ok(())
        })
    })?;
    connection.read("load aliases", ALIASES, [], |row| {
        let read = sql::text(row, 0).and_then(|name| Ok((name, sql::digest_at(row, 1)?)));
        read.map_or_else(passed, |(name, digest)| {
            cache.view.put_alias(name, digest);
            Ok(())
        })
    })?;
    connection.read("load limits", &LIMITS, [], |row| {
        let read = table::limit(row);
        read.map_or_else(passed, |(name, limit)| {
            cache.view.put_limit(name, limit);
            Ok(())
        })
    })?;
    connection.read("load hosts", HOSTS, [], |row| {
        let node = HostName::new(sql::text(row, 0)?.as_str());
        cache.view.put_host(node, int(row, 1)?.cast_unsigned());
        Ok(())
    })?;
    connection.read("load the first version", FIRST_VERSION, [], |row| {
        cache.view.raise_first_version(Version(int(row, 0)?.cast_unsigned()));
        Ok(())
    })?;
    connection.read("number the next promise", NEXT_NUMBER, [], |row| {
        cache.next_number = int(row, 0)?;
        Ok(())
    })?;
    Ok(cache)
}

/// Loads `wanted`, which is not cached.
pub(super) fn load(
    connection: &mut Connection,
    WriterCache { rows: cache, journal_buffer }: &mut WriterCache,
    wanted: Footprint,
) -> Result<(), FailedStatement> {
    let mut composites = Vec::new();
    if !(wanted.composites.is_empty() && wanted.rows.is_empty()) {
        let ids: Vec<_> = wanted.composites.iter().chain(&wanted.rows).collect();
        fetch(connection, "load promises", PROMISES, &ids, |row| {
            let (number, id) = sql::put_promise(cache, row, CacheLevel::Rows)?;
            if let Some(why) = journal_buffer.damage(number) {
                cache.view.put_unreadable(Subject::Promise(id.clone()), Text::from(why));
            }
            if wanted.composites.contains(&id) {
                composites.push(number);
            }
            Ok(())
        })?;
    }
    for (parent, page) in &wanted.children {
        let after = page.after.as_ref().map_or("", PromiseId::as_str);
        let parameters = (parent.as_str(), after, page.limit, page.unasked);
        connection.read("load children", CHILDREN, parameters, |row| {
            composites.push(sql::put_promise(cache, row, CacheLevel::Composite)?.0);
            Ok(())
        })?;
    }
    for (top, limit) in &wanted.trees {
        composites.extend(load_tree(connection, cache, top, *limit)?);
    }
    for object in &wanted.promises_of {
        composites.extend(load_promises_of(connection, cache, object)?);
    }
    if !composites.is_empty() {
        load_composites(connection, cache, journal_buffer, &composites)?;
    }
    for (invocation, from) in &wanted.tails {
        load_tail(connection, cache, journal_buffer, invocation, *from)?;
    }
    if !wanted.outbox.is_empty() {
        let keys: Vec<_> = wanted.outbox.iter().map(outbox_key).collect();
        fetch(connection, "load messages", OUTBOX, &keys, |row| message(cache, row))?;
    }
    if !wanted.signal_keys.is_empty() {
        let keys: Vec<_> = wanted.signal_keys.iter().map(|(id, key)| (id, key)).collect();
        fetch(connection, "load signal keys", SIGNAL_KEYS, &keys, |row| {
            sql::put_signal_key(cache, sql::id(row, 0)?, row, 2, 1)
        })?;
    }
    for statements in NAMED_STATEMENTS.iter() {
        let names = (statements.of.wanted)(&wanted);
        if !names.is_empty() {
            fetch(connection, statements.of.load, &statements.load, &names, |row| {
                sql::put_named(cache, statements.of, row).map(drop)
            })?;
        }
    }
    for statements in OWNED_STATEMENTS.iter() {
        let invocations = (statements.of.wanted)(&wanted);
        if !invocations.is_empty() {
            fetch(connection, statements.of.load, &statements.load, invocations, |row| {
                sql::put_owned(cache, statements.of, row)
            })?;
        }
    }
    if !wanted.stream_data.is_empty() {
        let (name, text) = ("load the data of streams", &STREAM_DATA_STATEMENTS.load);
        fetch(connection, name, text, &wanted.stream_data, |row| {
            cache.view.put_stream_chunk(sql::stream_chunk(row)?);
            Ok(())
        })?;
    }
    load_round(connection, cache, &wanted)?;
    if !wanted.held_by.is_empty() {
        fetch(connection, "load the tasks of a host", HELD_BY, &wanted.held_by, |row| {
            // A host may start even if a row it holds is damaged.
            sql::put_promise(cache, row, CacheLevel::Rows)
                .map(drop)
                .or_else(|error| sql::unreadable(error).map(drop))
        })?;
    }
    cache.loaded(wanted);
    let digests = cache.missing_chunks();
    let chunks = large_values::read(connection, &digests)?;
    let name = "load large values";
    cache.complete(&chunks).map_err(|source| FailedStatement { statement: name, source })
}

/// Loads the rows of admission rounds.
fn load_round(
    connection: &mut Connection,
    cache: &mut Cache,
    wanted: &Footprint,
) -> Result<(), FailedStatement> {
    let mut found = Vec::new();
    for (name, most) in &wanted.rounds {
        for statement in [round::READY, round::TIMED] {
            connection.read("load a round", statement, (name.as_str(), most), |row| {
                found.push(PartitionId::from(sql::text(row, 0)?.as_str()));
                Ok(())
            })?;
        }
    }
    for (name, page) in &wanted.sweeps {
        let (after, before) = round::sweep_bounds(name, page);
        connection.read(
            "load keys of a limit",
            round::SWEEP,
            (after, before, page.limit),
            |row| {
                found.push(PartitionId::from(sql::text(row, 0)?.as_str()));
                Ok(())
            },
        )?;
    }
    let partitions = round::partitions(cache, found);
    for statements in NAMED_STATEMENTS.iter() {
        let ids = (statements.of.wanted)(&partitions);
        if !ids.is_empty() {
            fetch(connection, statements.of.load, &statements.load, &ids, |row| {
                sql::put_named(cache, statements.of, row).map(drop)
            })?;
        }
    }
    cache.loaded(partitions);
    for ((partition, priority), most) in &wanted.lanes {
        let parameters = (partition.as_str(), priority, most);
        connection.read("load a lane", round::LANE, parameters, |row| round::put(cache, row))?;
    }
    Ok(())
}

fn load_composites(
    connection: &mut Connection,
    cache: &mut Cache,
    journal_buffer: &JournalBuffer,
    numbers: &[i64],
) -> Result<(), FailedStatement> {
    for statement in [CALLBACKS_ON, CALLBACKS_OF] {
        fetch(connection, "load callbacks", statement, numbers, |row| {
            let awaited = (row.int(0)?, sql::id(row, 1)?);
            let awaiter = (row.int(2)?, sql::id(row, 3)?);
            sql::put_callback(cache, awaited, awaiter, row.int(4))
        })?;
    }
    fetch(connection, "load listeners", LISTENERS, numbers, |row| {
        sql::put_listener(cache, sql::id(row, 0)?, row, 1)
    })?;
    fetch(connection, "load messages", EXECUTES, numbers, |row| message(cache, row))?;
    fetch(connection, "load the ends of journals", HEADS, numbers, |row| {
        sql::put_head(cache, sql::id(row, 0)?, row, 1)
    })?;
    for row in numbers.iter().filter_map(|number| journal_buffer.of(*number)) {
        cache.view.put_head(row.invocation.clone(), row.head);
    }
    Ok(())
}

fn load_tree(
    connection: &mut Connection,
    cache: &mut Cache,
    top: &PromiseId,
    limit: u32,
) -> Result<Vec<i64>, FailedStatement> {
    let name = "load a tree";
    let (mut tree, mut numbers) =
        (TreeMembers { whole: true, ..TreeMembers::default() }, Vec::new());
    // One more than the limit, to detect a larger tree.
    connection.read(name, TREE, (top.as_str(), i64::from(limit) + 1), |row| {
        if numbers.len() == limit as usize {
            tree.whole = false;
            return Ok(());
        }
        let (number, id) = sql::put_promise(cache, row, CacheLevel::Composite)?;
        numbers.push(number);
        tree.members.insert(id);
        Ok(())
    })?;
    cache.view.put_tree(top.clone(), tree);
    fetch(connection, name, OWED, &numbers, |row| message(cache, row))?;
    Ok(numbers)
}

/// Loads the promises of an object: at most one more than a command removes at a time.
fn load_promises_of(
    connection: &mut Connection,
    cache: &mut Cache,
    object: &ObjectId,
) -> Result<Vec<i64>, FailedStatement> {
    let (name, mut numbers) = ("load promises of an object", Vec::new());
    let [after, before] = object.promises();
    let bounds = (after.as_str(), before.as_str(), i64::from(TREE_LIMIT) + 1);
    connection.read(name, PROMISES_BETWEEN, bounds, |row| {
        numbers.push(sql::put_promise(cache, row, CacheLevel::Composite)?.0);
        Ok(())
    })?;
    fetch(connection, name, OWED, &numbers, |row| message(cache, row))?;
    Ok(numbers)
}

fn load_tail(
    connection: &mut Connection,
    cache: &mut Cache,
    journal_buffer: &JournalBuffer,
    invocation: &PromiseId,
    from: u32,
) -> Result<(), FailedStatement> {
    let Some(number) = cache.number(invocation) else { return Ok(()) };
    let name = "load the end of a journal";
    let (mut tail, mut columns) = (Ok(Vec::new()), Vec::new());
    let mut add = |more: Result<Vec<Record>, SqlFailure>| match (&mut tail, more) {
        (Ok(tail), Ok(more)) => tail.extend(more),
        (Ok(_), Err(error)) => tail = Err(error),
        (Err(_), _) => {}
    };
    connection.read(name, TAIL, (number, from), |row| {
        columns.push(row.blob(0)?.unwrap_or_default().to_vec());
        Ok(())
    })?;
    let lists: Vec<_> = columns.iter().filter_map(|column| ChunkList::marked(column)).collect();
    let chunks = large_values::read(connection, &ChunkSet::wanted(&lists))?;
    for column in &columns {
        add(sql::records_in(column, invocation, &chunks));
    }
    if let Some(row) = journal_buffer.of(number) {
        add(row.decode());
    }
    sql::put_tail(cache, invocation, tail, from)
        .map_err(|source| FailedStatement { statement: name, source })
}

/// Runs a statement that takes a list as JSON.
fn fetch(
    connection: &mut Connection,
    name: &'static str,
    text: &str,
    wanted: &(impl serde::Serialize + ?Sized),
    take: impl FnMut(&rusqlite::Row<'_>) -> Result<(), SqlFailure>,
) -> Result<(), FailedStatement> {
    let wanted = serde_json::to_string(wanted).expect("lists of texts and numbers are JSON");
    connection.read(name, text, [wanted], take)
}

fn outbox_key(key: &OutboxKey) -> (&PromiseId, i64, String) {
    let (kind, part) = order::outbox_order(key);
    (key.promise(), kind, part)
}

fn message(cache: &mut Cache, row: &impl RowFields) -> Result<(), SqlFailure> {
    let source = sql::id(row, 1)?;
    cache.know(&source, row.int(0)?, CacheLevel::Number);
    sql::put_message(cache, &source, row, 2)
}

/// A number that is never `NULL`.
fn int(row: &impl RowFields, column: usize) -> Result<i64, SqlFailure> {
    Ok(row.int(column)?.unwrap_or_default())
}

/// All statements with a search condition, for tests of query plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 18] = [
    PROMISES,
    HELD_BY,
    CHILDREN,
    TREE,
    PROMISES_BETWEEN,
    OWED,
    CALLBACKS_ON,
    CALLBACKS_OF,
    LISTENERS,
    EXECUTES,
    HEADS,
    OUTBOX,
    SIGNAL_KEYS,
    TAIL,
    round::READY,
    round::TIMED,
    round::SWEEP,
    round::LANE,
];
