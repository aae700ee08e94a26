//! Writes a delta with one statement for any number of tables and rows, or with two.
//!
//! All parts of a statement see the database as it was before the statement, and a delta writes no
//! row twice, so the order of the parts does not matter. Foreign keys are checked at the end of the
//! statement. A second statement takes the parts whose tables the first one writes already: some
//! servers refuse a statement that writes one table twice.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use segno_core::{
    delta::DatabaseDelta,
    id::{Digest, PromiseId},
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

#[cfg(test)]
use super::columns;
use super::{
    claims::WriteStamp,
    failure::FailedStatement,
    fields::escape,
    large_values::{self, PUT_USES},
    load::LockedRows,
    statement::query,
    statement_builder::{StatementBuilder, StatementList, StatementPart},
    tables::{NAMED_STATEMENTS, OWNED_STATEMENTS, STATE_STATEMENTS, STREAM_DATA_STATEMENTS},
};
use crate::sql::{
    Cache, CellRow,
    ColumnKind::{Blob, Int, Text},
    DeltaRows, JournalRow, NAMED, RowIds, SqlCell,
};

/// Raises the first version, which never decreases. The creator of a task reads it after the locks,
/// so it covers every removal of the id that the transaction has seen.
pub(super) const RAISE_FIRST_VERSION: &str = "
    INSERT INTO first_version (one, version) VALUES (1, $1)
    ON CONFLICT (one) DO UPDATE SET version = greatest(first_version.version, excluded.version)";

/// Deletes the rows that belong to removed promises, before the rows they reference.
pub(super) const REMOVE: [(&str, &str); 7] = [
    (
        "remove callbacks",
        "DELETE FROM callbacks WHERE awaited = ANY($1::bigint[]) OR awaiter = ANY($1::bigint[])",
    ),
    ("remove listeners", "DELETE FROM listeners WHERE awaited = ANY($1::bigint[])"),
    ("remove messages", "DELETE FROM outbox WHERE source = ANY($1::bigint[])"),
    ("remove journals", "DELETE FROM journal WHERE inv = ANY($1::bigint[])"),
    ("remove logs", "DELETE FROM logs WHERE inv = ANY($1::bigint[])"),
    ("remove signal keys", "DELETE FROM signal_keys WHERE inv = ANY($1::bigint[])"),
    ("remove tasks", "DELETE FROM tasks WHERE n = ANY($1::bigint[])"),
];

pub(super) const REMOVE_PROMISES: (&str, &str) =
    ("remove promises", "DELETE FROM promises WHERE n = ANY($1::bigint[])");

/// Deletes the callbacks of removed promises that lead to other databases, by id.
pub(super) const REMOVE_CROSSINGS: (&str, &str) = (
    "remove callbacks across databases",
    "DELETE FROM crossings WHERE awaited = ANY($1::text[]) OR awaiter = ANY($1::text[])",
);

/// Deletes callbacks between databases, by awaited and awaiter.
pub(super) const DROP_CROSSINGS: &str = "
    DELETE FROM crossings USING unnest($1::text[], $2::text[]) AS given (awaited, awaiter)
     WHERE crossings.awaited = given.awaited AND crossings.awaiter = given.awaiter";

const INSERT_PROMISES: StatementPart = StatementPart {
    columns: &[
        Int, Text, Int, Int, Int, Int, Int, Int, Text, Text, Text, Blob, Text, Blob, Int, Int,
    ],
    before: Cow::Borrowed("
        INSERT INTO promises (n, id, state, created_at, timeout_at, settled_at, made_by, attached, target, tags,
                              param_headers, param, value_headers, value, param_bytes, value_bytes)
        SELECT * FROM"),
    after: Cow::Borrowed(""),
};

/// A settled promise never changes, so only pending promises are updated.
const SETTLE_PROMISES: StatementPart = StatementPart {
    columns: &[Int, Int, Int, Text, Blob, Int],
    before: Cow::Borrowed("
        UPDATE promises
           SET state = given.state, settled_at = given.settled_at, value_headers = given.headers, value = given.value,
               value_bytes = given.bytes
          FROM"),
    after: Cow::Borrowed("AS given (n, state, settled_at, headers, value, bytes) WHERE promises.n = given.n AND promises.state = 0"),
};

/// A row that already has a higher version is kept: the fence's second lock. No module has the
/// number 0, so a module that was removed since the decision fails the foreign key.
const PUT_TASKS: StatementPart = StatementPart {
    columns: &[
        Int, Int, Int, Int, Int, Int, Int, Text, Int, Int, Int, Int, Blob, Int, Int, Int, Int, Int, Blob, Int,
    ],
    before: Cow::Borrowed("
        INSERT INTO tasks (n, state, version, wake_at, hosted, pending_since, offered, node, incarnation, nonce, ttl,
                           halted, module, attempt, last_heartbeat, fulfilled_by, cancel, signals, details, stamp)
        SELECT given.n, given.state, given.version, given.wake_at, given.hosted, given.pending_since, given.offered,
               given.node, given.incarnation, given.nonce, given.ttl, given.halted,
               CASE WHEN given.module IS NOT NULL THEN coalesce(modules.n, 0) END, given.attempt,
               given.last_heartbeat, given.fulfilled_by, given.cancel, given.signals, given.details, given.stamp
          FROM"),
    after: Cow::Borrowed("
          AS given (n, state, version, wake_at, hosted, pending_since, offered, node, incarnation, nonce, ttl, halted,
                    module, attempt, last_heartbeat, fulfilled_by, cancel, signals, details, stamp)
          LEFT JOIN modules ON modules.digest = given.module
        ON CONFLICT (n) DO UPDATE
           SET state = excluded.state, version = excluded.version, wake_at = excluded.wake_at,
               pending_since = excluded.pending_since, offered = excluded.offered, node = excluded.node,
               incarnation = excluded.incarnation, nonce = excluded.nonce, ttl = excluded.ttl,
               halted = excluded.halted, module = excluded.module, attempt = excluded.attempt,
               last_heartbeat = excluded.last_heartbeat, fulfilled_by = excluded.fulfilled_by,
               cancel = excluded.cancel, signals = excluded.signals, details = excluded.details,
               stamp = excluded.stamp
         WHERE tasks.version <= excluded.version"),
};

const PUT_CALLBACKS: StatementPart = StatementPart {
    columns: &[Int, Int, Int],
    before: Cow::Borrowed("INSERT INTO callbacks (awaited, awaiter, consumed) SELECT * FROM"),
    after: Cow::Borrowed(
        "ON CONFLICT (awaited, awaiter) DO UPDATE SET consumed = excluded.consumed",
    ),
};

const DELETE_CALLBACKS: StatementPart = StatementPart {
    columns: &[Int, Int],
    before: Cow::Borrowed("DELETE FROM callbacks USING"),
    after: Cow::Borrowed(
        "AS given (awaited, awaiter)
             WHERE callbacks.awaited = given.awaited AND callbacks.awaiter = given.awaiter",
    ),
};

const PUT_CROSSINGS: StatementPart = StatementPart {
    columns: &[Text, Text, Int],
    before: Cow::Borrowed("INSERT INTO crossings (awaited, awaiter, consumed) SELECT * FROM"),
    after: Cow::Borrowed(
        "ON CONFLICT (awaited, awaiter) DO UPDATE SET consumed = excluded.consumed",
    ),
};

const DELETE_CROSSINGS: StatementPart = StatementPart {
    columns: &[Text, Text],
    before: Cow::Borrowed("DELETE FROM crossings USING"),
    after: Cow::Borrowed(
        "AS given (awaited, awaiter)
             WHERE crossings.awaited = given.awaited AND crossings.awaiter = given.awaiter",
    ),
};

const PUT_LISTENERS: StatementPart = StatementPart {
    columns: &[Int, Text],
    before: Cow::Borrowed("INSERT INTO listeners (awaited, address) SELECT * FROM"),
    after: Cow::Borrowed("ON CONFLICT DO NOTHING"),
};

const DELETE_LISTENERS: StatementPart = StatementPart {
    columns: &[Int, Text],
    before: Cow::Borrowed("DELETE FROM listeners USING"),
    after: Cow::Borrowed(
        "AS given (awaited, address)
             WHERE listeners.awaited = given.awaited AND listeners.address = given.address",
    ),
};

const PUT_OUTBOX: StatementPart = StatementPart {
    columns: &[Int, Int, Text, Int, Int, Int, Blob],
    before: Cow::Borrowed("INSERT INTO outbox (source, kind, part, next_at, created_at, attempts, message) SELECT * FROM"),
    after: Cow::Borrowed("
        ON CONFLICT (source, kind, part) DO UPDATE
           SET next_at = excluded.next_at, created_at = excluded.created_at, attempts = excluded.attempts,
               message = excluded.message"),
};

const DELETE_OUTBOX: StatementPart = StatementPart {
    columns: &[Int, Int, Text],
    before: Cow::Borrowed("DELETE FROM outbox USING"),
    after: Cow::Borrowed("AS given (source, kind, part)
             WHERE outbox.source = given.source AND outbox.kind = given.kind AND outbox.part = given.part"),
};

const APPEND_JOURNALS: StatementPart = StatementPart {
    columns: &[Int, Int, Int, Int, Int, Int, Int, Blob],
    before: Cow::Borrowed(
        "
        INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
        SELECT * FROM",
    ),
    after: Cow::Borrowed(""),
};

const DROP_JOURNALS: StatementPart = StatementPart {
    columns: &[Int],
    before: Cow::Borrowed("DELETE FROM journal USING"),
    after: Cow::Borrowed("AS given (inv) WHERE journal.inv = given.inv"),
};

const DROP_LOGS: StatementPart = StatementPart {
    columns: &[Int],
    before: Cow::Borrowed("DELETE FROM logs USING"),
    after: Cow::Borrowed("AS given (inv) WHERE logs.inv = given.inv"),
};

const APPEND_LOGS: StatementPart = StatementPart {
    columns: &[Int, Int, Blob],
    before: Cow::Borrowed("INSERT INTO logs (inv, count, lines) SELECT * FROM"),
    after: Cow::Borrowed(""),
};

const PUT_SIGNAL_KEYS: StatementPart = StatementPart {
    columns: &[Int, Text, Int],
    before: Cow::Borrowed("INSERT INTO signal_keys (inv, key, number) SELECT * FROM"),
    after: Cow::Borrowed("ON CONFLICT DO NOTHING"),
};

/// As with tasks: a module removed since the decision fails the foreign key.
const PUT_ALIASES: StatementPart = StatementPart {
    columns: &[Text, Blob],
    before: Cow::Borrowed(
        "INSERT INTO aliases (name, module) SELECT given.name, coalesce(modules.n, 0) FROM",
    ),
    after: Cow::Borrowed(
        "AS given (name, module) LEFT JOIN modules ON modules.digest = given.module
            ON CONFLICT (name) DO UPDATE SET module = excluded.module",
    ),
};

/// An alias that another transaction has moved in the meantime is kept.
const DROP_ALIASES: StatementPart = StatementPart {
    columns: &[Text, Blob],
    before: Cow::Borrowed("DELETE FROM aliases USING modules,"),
    after: Cow::Borrowed(
        "AS given (name, module)
             WHERE aliases.name = given.name AND aliases.module = modules.n AND modules.digest = given.module",
    ),
};

/// A host's incarnation only grows: the second writer of the same number writes nothing, and finds
/// that out from the row count.
const PUT_HOSTS: StatementPart = StatementPart {
    columns: &[Text, Int],
    before: Cow::Borrowed("INSERT INTO hosts (node, incarnation) SELECT * FROM"),
    after: Cow::Borrowed(
        "ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation
             WHERE hosts.incarnation < excluded.incarnation",
    ),
};

/// The names of the rows that a delta wrote or deleted, by the index of their table in [`NAMED`].
pub(super) type WrittenNames = [Vec<String>; NAMED.len()];

/// Result of the statements sent.
#[derive(Debug, Default)]
pub(super) struct WriteSummary {
    pub(super) statements: usize,
    /// True if every host's row was written.
    pub(super) complete: bool,
    pub(super) named: WrittenNames,
    pub(super) stored_large_values: bool,
    /// Digests of the chunks that lost a use.
    pub(super) released_chunks: Vec<Vec<u8>>,
}

/// Writes `delta`, which is already applied to `cache`, and the callbacks to other databases.
/// `fresh` are the promises it creates; `locked` tells which named rows exist; `stamp` marks the
/// tasks.
pub(super) async fn write(
    connection: &mut PgConnection,
    cache: &Cache,
    DatabaseDelta { delta, crossings }: &DatabaseDelta,
    fresh: &BTreeSet<PromiseId>,
    locked: &LockedRows,
    stamp: WriteStamp,
) -> Result<WriteSummary, FailedStatement> {
    let mut written = DeltaRows::of(delta, fresh, &cache.view, &DigestRowIds(cache));
    // Two hosts that create the same promises wait for each other at the key, so all insert in one
    // fixed order.
    written.new_promises.sort_by(|left, right| text_of(&left[1]).cmp(text_of(&right[1])));
    let mut main = StatementList::default();
    main.push(&INSERT_PROMISES, written.new_promises);
    main.push(&SETTLE_PROMISES, written.settled);
    let stamped = |task: [SqlCell; 19]| task.into_iter().chain([stamp.0.into()]).collect();
    main.push(&PUT_TASKS, written.tasks.into_iter().map(stamped).collect::<Vec<CellRow>>());
    main.push(&DELETE_CALLBACKS, written.deleted_callbacks);
    main.push(&PUT_CALLBACKS, written.callbacks);
    let (put, deleted) = crossing_rows(crossings);
    main.push(&DELETE_CROSSINGS, deleted);
    main.push(&PUT_CROSSINGS, put);
    main.push(&DELETE_LISTENERS, written.deleted_listeners);
    main.push(&PUT_LISTENERS, written.listeners);
    main.push(&DELETE_OUTBOX, written.deleted_outbox);
    main.push(&PUT_OUTBOX, written.outbox);
    main.push(&DROP_JOURNALS, written.dropped_journals.clone());
    main.push(&DROP_LOGS, written.dropped_journals);
    let journals = written.journals.into_iter().map(JournalRow::into_cells);
    main.push(&APPEND_JOURNALS, journals.collect());
    main.push(&APPEND_LOGS, written.logs);
    main.push(&PUT_SIGNAL_KEYS, written.signal_keys);
    for (statements, rows) in OWNED_STATEMENTS.iter().zip(written.owned) {
        main.push(&statements.put, rows);
    }
    main.push(&STATE_STATEMENTS.delete, written.state.deleted);
    main.push(&STATE_STATEMENTS.put, written.state.put);
    main.push(&STREAM_DATA_STATEMENTS.put, written.stream_data.put);
    main.push(&PUT_USES, std::mem::take(&mut written.values.uses));
    // Unlocked rows come last, always in this order, so that two transactions cannot deadlock.
    let mut unlocked = Vec::with_capacity(NAMED_STATEMENTS.len() + 2);
    let mut names = WrittenNames::default();
    let named = NAMED_STATEMENTS.iter().zip(written.named).zip(&locked.named).zip(&mut names);
    for (((statements, rows), locked), names) in named {
        let of_all = rows.put.iter().chain(&rows.deleted).map(|row| text_of(&row[0]).to_owned());
        names.extend(of_all);
        let is_locked = |row: &Vec<SqlCell>| locked.contains(text_of(&row[0]));
        let (known, new): (Vec<_>, Vec<_>) = rows.put.into_iter().partition(is_locked);
        main.push(&statements.delete, rows.deleted);
        main.push(&statements.put, known);
        let mut insert = StatementBuilder::default();
        insert.push(&statements.insert, new);
        unlocked.push((statements.of.put, insert));
    }
    let mut aliases = StatementBuilder::default();
    aliases.push(&PUT_ALIASES, written.aliases);
    unlocked.push(("put aliases", aliases));
    let mut dropped = StatementBuilder::default();
    dropped.push(&DROP_ALIASES, written.dropped_aliases);
    unlocked.push(("drop aliases", dropped));
    let mut hosts = StatementBuilder::default();
    let lives = written.hosts.len() as u64;
    hosts.push(&PUT_HOSTS, written.hosts);

    let mut sent = WriteSummary {
        complete: true,
        named: names,
        stored_large_values: !written.values.chunks.is_empty(),
        ..WriteSummary::default()
    };
    let cleared = [
        ("clear the state of objects", &STATE_STATEMENTS.clear, written.state.cleared),
        ("clear streams", &STREAM_DATA_STATEMENTS.clear, written.stream_data.cleared),
    ];
    for (name, statement, rows) in cleared.into_iter().filter(|(.., rows)| !rows.is_empty()) {
        let keys = rows.iter().map(|row| escape(text_of(&row[0])).into_owned());
        let query = query(connection, AssertSqlSafe(statement.as_str()));
        let query = query.bind(keys.collect::<Vec<_>>());
        connection.execute(query).await.map_err(FailedStatement::of(name))?;
        sent.statements += 1;
    }
    if locked.has_large_values {
        let (released, statements) = large_values::release(connection, &written.values).await?;
        sent.released_chunks = released;
        sent.statements += statements;
    }
    sent.statements += large_values::put(connection, &written.values).await?;
    for statement in main.0 {
        statement.run(connection, "write a batch").await?;
        sent.statements += 1;
    }
    for (name, statement) in unlocked {
        if !statement.is_empty() {
            statement.run(connection, name).await?;
            sent.statements += 1;
        }
    }
    if lives > 0 {
        sent.complete = hosts.run(connection, "put hosts").await? == lives;
        sent.statements += 1;
    }
    Ok(sent)
}

/// The rows to write and to delete for callbacks between databases.
fn crossing_rows(
    crossings: &BTreeMap<(PromiseId, PromiseId), Option<bool>>,
) -> (Vec<[SqlCell; 3]>, Vec<[SqlCell; 2]>) {
    let (mut put, mut deleted) = (Vec::new(), Vec::new());
    for ((awaited, awaiter), consumed) in crossings {
        let [awaited, awaiter] = [awaited, awaiter].map(|id| SqlCell::from(id.as_str()));
        match consumed {
            Some(consumed) => put.push([awaited, awaiter, (*consumed).into()]),
            None => deleted.push([awaited, awaiter]),
        }
    }
    (put, deleted)
}

fn text_of(cell: &SqlCell) -> &str {
    match cell {
        SqlCell::Text(text) => text,
        SqlCell::Null | SqlCell::Int(_) | SqlCell::Blob(_) => "",
    }
}

/// Refers to modules by digest: the statements look up their numbers.
struct DigestRowIds<'a>(&'a Cache);

impl RowIds for DigestRowIds<'_> {
    fn promise(&self, id: &PromiseId) -> Option<i64> {
        self.0.number(id)
    }

    fn module(&self, digest: &Digest) -> SqlCell {
        SqlCell::Blob(digest.0.to_vec())
    }
}

/// All parts with a search condition as separate statements, for the tests of query plans.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let parts = [
        SETTLE_PROMISES,
        DELETE_CALLBACKS,
        DELETE_CROSSINGS,
        DELETE_LISTENERS,
        DELETE_OUTBOX,
        PUT_TASKS,
        PUT_ALIASES,
        DROP_ALIASES,
        DROP_JOURNALS,
        DROP_LOGS,
    ];
    let statement = |part: StatementPart| {
        let given = columns::parameters(part.columns, 1);
        format!("{} UNNEST({given}) {}", part.before, part.after)
    };
    parts.map(statement).to_vec()
}
