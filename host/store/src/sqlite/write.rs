//! Writes a delta with statements, grouped by table.

use std::collections::BTreeSet;

use segno_core::{
    delta::Delta,
    id::{Digest, PromiseId},
    promise::TaskStatus,
};

use super::{
    connection::{Connection, FailedStatement, NamedStatement},
    large_values,
    tables::{NAMED_STATEMENTS, OWNED_STATEMENTS, STATE_STATEMENTS, STREAM_DATA_STATEMENTS},
    writer_cache::WriterCache,
};
use crate::sql::{Cache, DeltaRows, RowIds, SqlCell};

static INSERT_PROMISES: NamedStatement = NamedStatement {
    name: "insert promises",
    text: "
        INSERT INTO promises (n, id, state, created_at, timeout_at, settled_at, made_by, attached, target, tags,
                              param_headers, param, value_headers, value, param_bytes, value_bytes)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};

/// A settled promise never changes, so only pending promises are updated.
static SETTLE_PROMISES: NamedStatement = NamedStatement {
    name: "settle promises",
    text: "
        UPDATE promises SET state = ?2, settled_at = ?3, value_headers = ?4, value = ?5, value_bytes = ?6
         WHERE n = ?1 AND state = 0",
};

static PUT_TASKS: NamedStatement = NamedStatement {
    name: "put tasks",
    text: "
        INSERT INTO tasks (n, state, version, wake_at, hosted, pending_since, offered, node, incarnation, nonce, ttl,
                           halted, module, attempt, last_heartbeat, fulfilled_by, cancel, signals, details)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (n) DO UPDATE
           SET state = excluded.state, version = excluded.version, wake_at = excluded.wake_at,
               pending_since = excluded.pending_since, offered = excluded.offered, node = excluded.node,
               incarnation = excluded.incarnation, nonce = excluded.nonce, ttl = excluded.ttl,
               halted = excluded.halted, module = excluded.module, attempt = excluded.attempt,
               last_heartbeat = excluded.last_heartbeat, fulfilled_by = excluded.fulfilled_by,
               cancel = excluded.cancel, signals = excluded.signals, details = excluded.details",
};

static PUT_CALLBACKS: NamedStatement = NamedStatement {
    name: "put callbacks",
    text: "
        INSERT INTO callbacks (awaited, awaiter, consumed) VALUES (?, ?, ?)
        ON CONFLICT (awaited, awaiter) DO UPDATE SET consumed = excluded.consumed",
};

static DELETE_CALLBACKS: NamedStatement = NamedStatement {
    name: "delete callbacks",
    text: "DELETE FROM callbacks WHERE awaited = ? AND awaiter = ?",
};

static PUT_LISTENERS: NamedStatement = NamedStatement {
    name: "put listeners",
    text: "INSERT INTO listeners (awaited, address) VALUES (?, ?) ON CONFLICT DO NOTHING",
};

static DELETE_LISTENERS: NamedStatement = NamedStatement {
    name: "delete listeners",
    text: "DELETE FROM listeners WHERE awaited = ? AND address = ?",
};

static PUT_OUTBOX: NamedStatement = NamedStatement {
    name: "put outbox",
    text: "
        INSERT INTO outbox (source, kind, part, next_at, created_at, attempts, message) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (source, kind, part) DO UPDATE
           SET next_at = excluded.next_at, created_at = excluded.created_at, attempts = excluded.attempts,
               message = excluded.message",
};

static DELETE_OUTBOX: NamedStatement = NamedStatement {
    name: "delete outbox",
    text: "DELETE FROM outbox WHERE source = ? AND kind = ? AND part = ?",
};

static APPEND_LOGS: NamedStatement = NamedStatement {
    name: "append logs",
    text: "INSERT INTO logs (inv, count, lines) VALUES (?, ?, ?)",
};

static PUT_SIGNAL_KEYS: NamedStatement = NamedStatement {
    name: "put signal keys",
    text: "
        INSERT INTO signal_keys (inv, key, number) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
};

static PUT_ALIASES: NamedStatement = NamedStatement {
    name: "put aliases",
    text: "
        INSERT INTO aliases (name, module) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET module = excluded.module",
};

static DROP_ALIASES: NamedStatement = NamedStatement {
    name: "drop aliases",
    text: "DELETE FROM aliases WHERE name = ? AND module = ?",
};

static PUT_HOSTS: NamedStatement = NamedStatement {
    name: "put hosts",
    text: "
        INSERT INTO hosts (node, incarnation) VALUES (?, ?)
        ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation",
};

static REMOVE_JOURNALS: NamedStatement =
    NamedStatement { name: "remove journals", text: "DELETE FROM journal WHERE inv = ?" };

static REMOVE_LOGS: NamedStatement =
    NamedStatement { name: "remove logs", text: "DELETE FROM logs WHERE inv = ?" };

/// Deletes the rows that belong to removed promises, before the rows they reference.
static REMOVE: [&NamedStatement; 8] = [
    &NamedStatement { name: "remove callbacks", text: "DELETE FROM callbacks WHERE awaited = ?" },
    &NamedStatement { name: "remove waits", text: "DELETE FROM callbacks WHERE awaiter = ?" },
    &NamedStatement { name: "remove listeners", text: "DELETE FROM listeners WHERE awaited = ?" },
    &NamedStatement { name: "remove messages", text: "DELETE FROM outbox WHERE source = ?" },
    &REMOVE_JOURNALS,
    &REMOVE_LOGS,
    &NamedStatement { name: "remove signal keys", text: "DELETE FROM signal_keys WHERE inv = ?" },
    &NamedStatement { name: "remove tasks", text: "DELETE FROM tasks WHERE n = ?" },
];

static REMOVE_PROMISES: NamedStatement =
    NamedStatement { name: "remove promises", text: "DELETE FROM promises WHERE n = ?" };

/// The first version never decreases.
static RAISE_FIRST_VERSION: NamedStatement = NamedStatement {
    name: "raise the first version",
    text: "
        INSERT INTO first_version (one, version) VALUES (1, ?)
        ON CONFLICT (one) DO UPDATE SET version = max(version, excluded.version)",
};

/// Writes `delta`, which is already applied to the cache; `fresh` are the promises it creates.
pub(super) fn write(
    connection: &mut Connection,
    WriterCache { rows: cache, journal_buffer }: &mut WriterCache,
    delta: &Delta,
    fresh: &BTreeSet<PromiseId>,
) -> Result<(), FailedStatement> {
    let written = DeltaRows::of(delta, fresh, &cache.view, cache);
    let let_go = delta.tasks.values().filter(|task| task.status() != TaskStatus::Acquired);
    let let_go = let_go.filter_map(|task| cache.number(&task.id)).collect();
    connection.each(&INSERT_PROMISES, &written.new_promises)?;
    connection.each(&SETTLE_PROMISES, &written.settled)?;
    connection.each(&PUT_TASKS, &written.tasks)?;
    connection.each(&DELETE_CALLBACKS, &written.deleted_callbacks)?;
    connection.each(&PUT_CALLBACKS, &written.callbacks)?;
    connection.each(&DELETE_LISTENERS, &written.deleted_listeners)?;
    connection.each(&PUT_LISTENERS, &written.listeners)?;
    connection.each(&DELETE_OUTBOX, &written.deleted_outbox)?;
    connection.each(&PUT_OUTBOX, &written.outbox)?;
    let gone = delta.dropped_journals.iter().filter_map(|id| cache.number(id));
    journal_buffer.leave(connection, &gone.collect::<Vec<_>>())?;
    connection.each(&REMOVE_JOURNALS, &written.dropped_journals)?;
    connection.each(&REMOVE_LOGS, &written.dropped_journals)?;
    journal_buffer.write(connection, written.journals, let_go)?;
    connection.each(&APPEND_LOGS, &written.logs)?;
    connection.each(&PUT_SIGNAL_KEYS, &written.signal_keys)?;
    connection.each(&PUT_ALIASES, &written.aliases)?;
    connection.each(&DROP_ALIASES, &written.dropped_aliases)?;
    connection.each(&PUT_HOSTS, &written.hosts)?;
    for (statements, rows) in NAMED_STATEMENTS.iter().zip(&written.named) {
        connection.each_of(statements.of.put, &statements.delete, &rows.deleted)?;
        connection.each_of(statements.of.put, &statements.put, &rows.put)?;
    }
    for (statements, rows) in OWNED_STATEMENTS.iter().zip(&written.owned) {
        connection.each_of(statements.of.put, &statements.put, rows)?;
    }
    let (statements, name) = (&*STATE_STATEMENTS, "write the state of objects");
    connection.each_of(name, &statements.clear, &written.state.cleared)?;
    connection.each_of(name, &statements.delete, &written.state.deleted)?;
    connection.each_of(name, &statements.put, &written.state.put)?;
    let (statements, name) = (&*STREAM_DATA_STATEMENTS, "write the data of streams");
    connection.each_of(name, &statements.clear, &written.stream_data.cleared)?;
    connection.each_of(name, &statements.put, &written.stream_data.put)?;
    large_values::write(connection, &written.values)
}

/// Removes the promises that `delta` removes, with all rows that belong to them.
pub(super) fn remove(
    connection: &mut Connection,
    WriterCache { rows: cache, journal_buffer }: &mut WriterCache,
    delta: &Delta,
) -> Result<(), FailedStatement> {
    let first = delta.first_version.map(|version| [SqlCell::from(version.0.cast_signed())]);
    connection.each(&RAISE_FIRST_VERSION, first.as_slice())?;
    let gone = delta.removed.iter();
    let mut numbers: Vec<i64> = gone.filter_map(|id| cache.number(id)).collect();
    journal_buffer.leave(connection, &numbers)?;
    large_values::remove(connection, &numbers)?;
    // Newest first: promises are removed before their older makers.
    numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
    let rows: Vec<_> = numbers.into_iter().map(|number| [SqlCell::from(number)]).collect();
    REMOVE.iter().try_for_each(|statement| connection.each(statement, &rows))?;
    for statements in OWNED_STATEMENTS.iter() {
        connection.each_of(statements.of.remove, &statements.remove, &rows)?;
    }
    let ids: Vec<_> = delta.removed.iter().map(|id| [SqlCell::from(id.as_str())]).collect();
    let (statements, name) = (&*STREAM_DATA_STATEMENTS, "remove streams");
    connection.each_of(name, &statements.remove_data, &ids)?;
    connection.each_of(name, &statements.remove, &ids)?;
    connection.each(&REMOVE_PROMISES, &rows)
}

impl RowIds for Cache {
    fn promise(&self, id: &PromiseId) -> Option<i64> {
        self.number(id)
    }

    fn module(&self, digest: &Digest) -> SqlCell {
        self.modules.get(digest).copied().into()
    }
}

/// All statements, for tests of query plans.
#[cfg(test)]
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    let written = [
        &INSERT_PROMISES,
        &SETTLE_PROMISES,
        &PUT_TASKS,
        &PUT_CALLBACKS,
        &DELETE_CALLBACKS,
        &PUT_LISTENERS,
        &DELETE_LISTENERS,
        &PUT_OUTBOX,
        &DELETE_OUTBOX,
        &APPEND_LOGS,
        &PUT_SIGNAL_KEYS,
        &PUT_ALIASES,
        &DROP_ALIASES,
        &PUT_HOSTS,
        &RAISE_FIRST_VERSION,
        &REMOVE_PROMISES,
    ];
    let written = written.into_iter().chain(REMOVE).map(|statement| statement.text);
    written.chain(large_values::STATEMENTS)
}
