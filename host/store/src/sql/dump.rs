//! Everything that is kept, as statements and what each of their rows puts into the model.

use segno_core::{
    id::{NodeName, Version},
    state::State,
};

use super::{
    Failure, Fields, digest_at, fact, head, id, lease, number, outbox, promise, promise_columns,
    promise_tables, records, resource, schedule, schedule_columns, small, task, text,
};

const PROMISES: &str =
    concat!("SELECT ", promise_columns!(), "FROM promises p ", promise_tables!());

const CALLBACKS: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited
      JOIN promises awaiter ON awaiter.n = callbacks.awaiter";

const LISTENERS: &str =
    "SELECT promises.id, address FROM listeners JOIN promises ON promises.n = awaited";

const OUTBOX: &str = "
    SELECT promises.id, kind, part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = source";

/// In the order of the journals, so that the last row of each is its head.
const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journal JOIN promises ON promises.n = inv ORDER BY inv, first_seq";

const ALIASES: &str = "SELECT name, digest FROM aliases JOIN modules ON modules.n = aliases.module";

const MODULES: &str = "SELECT digest FROM modules";

const HOSTS: &str = "SELECT node, incarnation FROM hosts";

const SIGNAL_KEYS: &str =
    "SELECT promises.id, key, number FROM signal_keys JOIN promises ON promises.n = inv";

const SCHEDULES: &str = concat!("SELECT ", schedule_columns!(), "FROM schedules");

const RESOURCES: &str = "SELECT name, token, value_headers, value FROM resources";

const RESOURCE_LEASES: &str = "SELECT name, token, holder, until_at FROM resource_leases";

const FACTS: &str = "
    SELECT promises.id, saga, seq, fact, promise, compensate, unknown, at
      FROM compensations JOIN promises ON promises.n = inv";

const FIRST_VERSION: &str = "SELECT version FROM first_version";

/// What a row of a dump is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    Promise,
    Callback,
    Listener,
    Outbox,
    Journal,
    Module,
    Alias,
    Host,
    SignalKey,
    Schedule,
    Resource,
    ResourceLease,
    Fact,
    FirstVersion,
}

/// Every statement of a dump, to be run in one transaction.
pub(crate) const WHOLE: [(About, &str); 14] = [
    (About::Promise, PROMISES),
    (About::Callback, CALLBACKS),
    (About::Listener, LISTENERS),
    (About::Outbox, OUTBOX),
    (About::Journal, JOURNALS),
    (About::Module, MODULES),
    (About::Alias, ALIASES),
    (About::Host, HOSTS),
    (About::SignalKey, SIGNAL_KEYS),
    (About::Schedule, SCHEDULES),
    (About::Resource, RESOURCES),
    (About::ResourceLease, RESOURCE_LEASES),
    (About::Fact, FACTS),
    (About::FirstVersion, FIRST_VERSION),
];

/// Puts a row of a dump.
pub(crate) fn put(state: &mut State, about: About, row: &impl Fields) -> Result<(), Failure> {
    match about {
        About::Promise => {
            let (_, promise) = promise(row)?;
            if let Some(task) = task(row, promise.id())? {
                state.put_task(task);
            }
            state.put_promise(promise);
        }
        About::Callback => {
            let (awaited, awaiter) = (id(row, 0)?, id(row, 1)?);
            let consumed = number(row, 2, &awaited, "consumed")? != 0;
            state.put_callback(awaited, awaiter, consumed);
        }
        About::Listener => state.put_listener(id(row, 0)?, text(row, 1)?),
        About::Outbox => {
            let (key, message) = outbox(row, 1, &id(row, 0)?)?;
            state.put_outbox(key, message);
        }
        About::Journal => {
            let invocation = id(row, 0)?;
            let head = head(row, 1, &invocation)?;
            state.extend_tail(&invocation, records(row, 6, &invocation)?);
            state.put_head(invocation, head);
        }
        About::Module => state.put_module(digest_at(row, 0)?),
        About::Alias => state.put_alias(text(row, 0)?, digest_at(row, 1)?),
        About::Host => {
            let node = text(row, 0)?;
            let lives = number(row, 1, &node, "incarnation")?.cast_unsigned();
            state.put_host(NodeName::new(node.as_str()), lives);
        }
        About::SignalKey => {
            let invocation = id(row, 0)?;
            let n = small(row, 2, &invocation, "number")?;
            state.put_signal_key(invocation, text(row, 1)?, n);
        }
        About::Schedule => state.put_schedule(schedule(row)?),
        About::Resource => state.put_resource(resource(row, 0)?),
        About::ResourceLease => state.put_resource_lease(lease(row, 0)?),
        About::Fact => {
            let (invocation, key, fact) = fact(row, 0)?;
            state.put_fact(invocation, key, fact);
        }
        About::FirstVersion => {
            let version = number(row, 0, &"first_version", "version")?.cast_unsigned();
            state.raise_first_version(Version(version));
        }
    }
    Ok(())
}
