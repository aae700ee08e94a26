//! A delta as statements, one a table and as few sizes as can be.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    delta::{Append, Delta},
    id::PromiseId,
    invocation::{LogLine, encode_records},
};

use super::{
    cache::Cache,
    rows,
    statement::{Cell, Script, Template},
};

static INSERT_PROMISES: Template = Template {
    name: "insert promises",
    before: "
        INSERT INTO promises (n, id, state, created_at, timeout_at, settled_at, made_by, attached, target, tags,
                              param_headers, param, value_headers, value)
        SELECT * FROM",
    after: "WHERE column1 IS NOT NULL",
};

/// A settled promise never changes, so only pending ones are touched.
static SETTLE_PROMISES: Template = Template {
    name: "settle promises",
    before: "
        UPDATE promises
           SET state = given.column2, settled_at = given.column3, value_headers = given.column4, value = given.column5
          FROM",
    after: "AS given WHERE promises.n = given.column1 AND promises.state = 0",
};

static PUT_TASKS: Template = Template {
    name: "put tasks",
    before: "
        INSERT INTO tasks (n, state, version, wake_at, hosted, pending_since, offered, node, incarnation, nonce, ttl,
                           halted, module, attempt, last_heartbeat, fulfilled_by, cancel, signals, details)
        SELECT * FROM",
    after: "
        WHERE column1 IS NOT NULL
        ON CONFLICT (n) DO UPDATE
           SET state = excluded.state, version = excluded.version, wake_at = excluded.wake_at,
               pending_since = excluded.pending_since, offered = excluded.offered, node = excluded.node,
               incarnation = excluded.incarnation, nonce = excluded.nonce, ttl = excluded.ttl,
               halted = excluded.halted, module = excluded.module, attempt = excluded.attempt,
               last_heartbeat = excluded.last_heartbeat, fulfilled_by = excluded.fulfilled_by,
               cancel = excluded.cancel, signals = excluded.signals, details = excluded.details",
};

static PUT_CALLBACKS: Template = Template {
    name: "put callbacks",
    before: "INSERT INTO callbacks (awaited, awaiter, consumed) SELECT * FROM",
    after: "
        WHERE column1 IS NOT NULL
        ON CONFLICT (awaited, awaiter) DO UPDATE SET consumed = excluded.consumed",
};

// SQLite looks the rows up by index only if the list is selected from: a bare list of values makes it read the table.
static DELETE_CALLBACKS: Template = Template {
    name: "delete callbacks",
    before: "DELETE FROM callbacks WHERE (awaited, awaiter) IN (SELECT * FROM",
    after: ")",
};

static PUT_LISTENERS: Template = Template {
    name: "put listeners",
    before: "INSERT INTO listeners (awaited, address) SELECT * FROM",
    after: "WHERE column1 IS NOT NULL ON CONFLICT DO NOTHING",
};

static DELETE_LISTENERS: Template = Template {
    name: "delete listeners",
    before: "DELETE FROM listeners WHERE (awaited, address) IN (SELECT * FROM",
    after: ")",
};

static PUT_OUTBOX: Template = Template {
    name: "put outbox",
    before: "INSERT INTO outbox (source, kind, part, next_at, created_at, attempts, message) SELECT * FROM",
    after: "
        WHERE column1 IS NOT NULL
        ON CONFLICT (source, kind, part) DO UPDATE
           SET next_at = excluded.next_at, created_at = excluded.created_at, attempts = excluded.attempts,
               message = excluded.message",
};

static DELETE_OUTBOX: Template = Template {
    name: "delete outbox",
    before: "DELETE FROM outbox WHERE (source, kind, part) IN (SELECT * FROM",
    after: ")",
};

static APPEND_JOURNALS: Template = Template {
    name: "append journals",
    before: "
        INSERT INTO journal (inv, first_seq, end_seq, commands, notified, at, finished, records)
        SELECT * FROM",
    after: "WHERE column1 IS NOT NULL",
};

static APPEND_LOGS: Template = Template {
    name: "append logs",
    before: "INSERT INTO logs (inv, count, lines) SELECT * FROM",
    after: "WHERE column1 IS NOT NULL",
};

static PUT_SIGNAL_KEYS: Template = Template {
    name: "put signal keys",
    before: "INSERT INTO signal_keys (inv, key, number) SELECT * FROM",
    after: "WHERE column1 IS NOT NULL ON CONFLICT DO NOTHING",
};

static PUT_ALIASES: Template = Template {
    name: "put aliases",
    before: "INSERT INTO aliases (name, module) SELECT * FROM",
    after: "WHERE column1 IS NOT NULL ON CONFLICT (name) DO UPDATE SET module = excluded.module",
};

static PUT_HOSTS: Template = Template {
    name: "put hosts",
    before: "INSERT INTO hosts (node, incarnation) SELECT * FROM",
    after: "WHERE column1 IS NOT NULL ON CONFLICT (node) DO UPDATE SET incarnation = excluded.incarnation",
};

/// The format byte of a row of log lines.
///
/// ```text
/// lines = format: u8 (1), then the lines as one list in postcard
/// ```
pub(super) const LOG_FORMAT: u8 = 1;

/// Adds the statements for `delta`, which was applied to `cache`; `fresh` are the promises it makes.
pub(super) fn write(
    script: &mut Script,
    cache: &Cache,
    delta: &Delta,
    fresh: &BTreeSet<PromiseId>,
) {
    let number = |id: &PromiseId| {
        cache.number(id).expect("a decision writes about promises that were looked up or are new")
    };
    let made_by = |id: &Option<PromiseId>| id.as_ref().map(number);

    let (new, settled): (Vec<_>, Vec<_>) =
        delta.promises.values().partition(|promise| fresh.contains(promise.id()));
    let mut new: Vec<_> = new.into_iter().map(|promise| (number(promise.id()), promise)).collect();
    new.sort_by_key(|(number, _)| *number);
    let new = new
        .into_iter()
        .map(|(n, promise)| rows::new_promise(n, made_by(&promise.birth.made_by), promise));
    script.push(&INSERT_PROMISES, new.collect());
    let settled = settled.into_iter().filter(|promise| !promise.is_pending()).map(|promise| {
        let [state, at, headers, value] = rows::settlement(promise);
        [number(promise.id()).into(), state, at, headers, value]
    });
    script.push(&SETTLE_PROMISES, settled.collect());

    let tasks = delta.tasks.values().map(|task| {
        let target = cache.state.promise(&task.id).and_then(|promise| promise.target());
        let module = task.module.and_then(|digest| cache.modules.get(&digest).copied());
        rows::task_cells(number(&task.id), module, target, task)
    });
    script.push(&PUT_TASKS, tasks.collect());

    let mut put = Vec::new();
    let mut deleted = Vec::new();
    for ((awaited, awaiter), consumed) in &delta.callbacks {
        let (awaited, awaiter) = (Cell::from(number(awaited)), Cell::from(number(awaiter)));
        match consumed {
            Some(consumed) => put.push([awaited, awaiter, (*consumed).into()]),
            None => deleted.push([awaited, awaiter]),
        }
    }
    script.push(&DELETE_CALLBACKS, deleted);
    script.push(&PUT_CALLBACKS, put);

    let (mut put, mut deleted) = (Vec::new(), Vec::new());
    for ((awaited, address), present) in &delta.listeners {
        let row = [number(awaited).into(), address.as_str().into()];
        if *present { put.push(row) } else { deleted.push(row) }
    }
    script.push(&DELETE_LISTENERS, deleted);
    script.push(&PUT_LISTENERS, put);

    let (mut put, mut deleted) = (Vec::new(), Vec::new());
    for (key, row) in &delta.outbox {
        // A message about a promise that does not exist was asked for by somebody else's key: there is no row either.
        let Some(source) = cache.number(key.promise()) else { continue };
        match row {
            Some(row) => put.push(rows::outbox_cells(source, key, row)),
            None => deleted.push(rows::outbox_key_cells(source, key)),
        }
    }
    script.push(&DELETE_OUTBOX, deleted);
    script.push(&PUT_OUTBOX, put);

    script.push(&APPEND_JOURNALS, journal_rows(&delta.appends, number));
    script.push(&APPEND_LOGS, log_rows(&delta.logs, number));
    let keys = delta.signal_keys.iter().map(|((invocation, key), n)| {
        [number(invocation).into(), key.as_str().into(), (*n).into()]
    });
    script.push(&PUT_SIGNAL_KEYS, keys.collect());
    let aliases = delta.aliases.iter().filter_map(|(name, digest)| {
        Some([name.as_str().into(), cache.modules.get(digest).copied()?.into()])
    });
    script.push(&PUT_ALIASES, aliases.collect());
    let hosts =
        delta.hosts.iter().map(|(node, incarnation)| [node.as_str().into(), (*incarnation).into()]);
    script.push(&PUT_HOSTS, hosts.collect());
}

/// One row for each journal, whatever number of commands appended to it.
fn journal_rows(appends: &[Append], number: impl Fn(&PromiseId) -> i64) -> Vec<[Cell; 8]> {
    let mut journals: BTreeMap<&PromiseId, Vec<&Append>> = BTreeMap::new();
    for append in appends.iter().filter(|append| !append.records.is_empty()) {
        journals.entry(&append.invocation).or_default().push(append);
    }
    let row = |(invocation, appends): (&PromiseId, Vec<&Append>)| {
        let (first, last) = (appends.first()?, appends.last()?);
        let records = match appends.as_slice() {
            [only] => encode_records(&only.records),
            several => {
                let records: Vec<_> =
                    several.iter().flat_map(|append| &append.records).cloned().collect();
                encode_records(&records)
            }
        };
        Some([
            number(invocation).into(),
            first.before.len.into(),
            last.after.len.into(),
            last.after.commands.into(),
            last.after.notified.into(),
            last.after.at.0.into(),
            last.after.finished.into(),
            records.into(),
        ])
    };
    journals.into_iter().filter_map(row).collect()
}

fn log_rows(logs: &[(PromiseId, LogLine)], number: impl Fn(&PromiseId) -> i64) -> Vec<[Cell; 3]> {
    let mut logged: BTreeMap<&PromiseId, Vec<&LogLine>> = BTreeMap::new();
    for (invocation, line) in logs {
        logged.entry(invocation).or_default().push(line);
    }
    let row = |(invocation, lines): (&PromiseId, Vec<&LogLine>)| {
        let encoded = postcard::to_extend(&lines, vec![LOG_FORMAT])
            .expect("a log line holds nothing postcard refuses");
        [number(invocation).into(), (lines.len() as i64).into(), encoded.into()]
    };
    logged.into_iter().map(row).collect()
}

/// Every statement with the number of its columns, for the tests of their plans.
#[cfg(test)]
pub(super) static TEMPLATES: [(&Template, usize); 13] = [
    (&INSERT_PROMISES, 14),
    (&SETTLE_PROMISES, 5),
    (&PUT_TASKS, 19),
    (&PUT_CALLBACKS, 3),
    (&DELETE_CALLBACKS, 2),
    (&PUT_LISTENERS, 2),
    (&DELETE_LISTENERS, 2),
    (&PUT_OUTBOX, 7),
    (&DELETE_OUTBOX, 3),
    (&APPEND_JOURNALS, 8),
    (&APPEND_LOGS, 3),
    (&PUT_SIGNAL_KEYS, 3),
    (&PUT_ALIASES, 2),
];
