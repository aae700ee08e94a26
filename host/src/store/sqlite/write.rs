//! A delta as statements, one a table and as few sizes as can be.

use std::collections::BTreeSet;

use segno_core::{
    delta::Delta,
    id::{Digest, PromiseId},
};

use super::{
    resources, schedules,
    statement::{Script, Template},
};
use crate::store::sql::{Cache, Cell, Numbers, Written};

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

/// What belongs to promises that go, and then they themselves: rows before those they refer to.
static REMOVE: [Template; 10] = [
    Template {
        name: "remove callbacks",
        before: "DELETE FROM callbacks WHERE awaited IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove waits",
        before: "DELETE FROM callbacks WHERE awaiter IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove listeners",
        before: "DELETE FROM listeners WHERE awaited IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove messages",
        before: "DELETE FROM outbox WHERE source IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove journals",
        before: "DELETE FROM journal WHERE inv IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove logs",
        before: "DELETE FROM logs WHERE inv IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove signal keys",
        before: "DELETE FROM signal_keys WHERE inv IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove tasks",
        before: "DELETE FROM tasks WHERE n IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove facts",
        before: "DELETE FROM compensations WHERE inv IN (SELECT * FROM",
        after: ")",
    },
    Template {
        name: "remove promises",
        before: "DELETE FROM promises WHERE n IN (SELECT * FROM",
        after: ")",
    },
];

/// Adds the statements for `delta`, which was applied to `cache`; `fresh` are the promises it makes.
pub(super) fn write(
    script: &mut Script,
    cache: &Cache,
    delta: &Delta,
    fresh: &BTreeSet<PromiseId>,
) {
    let written = Written::of(delta, fresh, &cache.state, cache);
    script.push(&INSERT_PROMISES, written.new_promises);
    script.push(&SETTLE_PROMISES, written.settled);
    script.push(&PUT_TASKS, written.tasks);
    script.push(&DELETE_CALLBACKS, written.deleted_callbacks);
    script.push(&PUT_CALLBACKS, written.callbacks);
    script.push(&DELETE_LISTENERS, written.deleted_listeners);
    script.push(&PUT_LISTENERS, written.listeners);
    script.push(&DELETE_OUTBOX, written.deleted_outbox);
    script.push(&PUT_OUTBOX, written.outbox);
    script.push(&APPEND_JOURNALS, written.journals);
    script.push(&APPEND_LOGS, written.logs);
    script.push(&PUT_SIGNAL_KEYS, written.signal_keys);
    script.push(&PUT_ALIASES, written.aliases);
    script.push(&PUT_HOSTS, written.hosts);
    script.push(&schedules::DELETE_SCHEDULES, written.deleted_schedules);
    script.push(&schedules::PUT_SCHEDULES, written.schedules);
    script.push(&resources::PUT_RESOURCES, written.resources);
    script.push(&resources::PUT_LEASES, written.resource_leases);
    script.push(&resources::APPEND_FACTS, written.facts);
}

/// Adds the statements that remove these promises with all that belongs to them.
pub(super) fn remove(script: &mut Script, cache: &Cache, gone: &BTreeSet<PromiseId>) {
    let mut numbers: Vec<i64> = gone.iter().filter_map(|id| cache.number(id)).collect();
    // The youngest first: what was made goes no later than what made it, which is older.
    numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
    for template in &REMOVE {
        script.push(template, numbers.iter().map(|number| [Cell::from(*number)]).collect());
    }
}

impl Numbers for Cache {
    fn promise(&self, id: &PromiseId) -> Option<i64> {
        self.number(id)
    }

    fn module(&self, digest: &Digest) -> Cell {
        self.modules.get(digest).copied().into()
    }
}

/// Every statement with the number of its columns, for the tests of their plans.
#[cfg(test)]
pub(super) static TEMPLATES: [(&Template, usize); 28] = [
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
    (&schedules::PUT_SCHEDULES, 14),
    (&schedules::DELETE_SCHEDULES, 1),
    (&resources::PUT_RESOURCES, 4),
    (&resources::PUT_LEASES, 4),
    (&resources::APPEND_FACTS, 8),
    (&REMOVE[0], 1),
    (&REMOVE[1], 1),
    (&REMOVE[2], 1),
    (&REMOVE[3], 1),
    (&REMOVE[4], 1),
    (&REMOVE[5], 1),
    (&REMOVE[6], 1),
    (&REMOVE[7], 1),
    (&REMOVE[8], 1),
    (&REMOVE[9], 1),
];
