//! Dumps the whole content: the statements, and the conversion of their rows to the model.

use std::borrow::Cow;

use segno_core::{
    id::{HostName, Version},
    view::View,
};

use super::{
    RowFields, SqlFailure, digest_at, head, id,
    large_value::{ChunkList, ChunkSet},
    module_facts, module_facts_column, number, outbox, promise_columns, promise_tables, records,
    records_list, small, stored_promise,
    table::{
        NAMED, NamedTable, OWNED, OwnedTable, STATE, STREAM_CHUNKS, SqlTable, state, state_list,
        stream_chunk,
    },
    task, text,
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

/// In journal order, so that the last row of each journal sets its head.
const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journal JOIN promises ON promises.n = inv ORDER BY inv, first_seq";

const ALIASES: &str = "SELECT name, digest FROM aliases JOIN modules ON modules.n = aliases.module";

const MODULES: &str = concat!("SELECT digest, ", module_facts_column!(), " FROM modules");

const HOSTS: &str = "SELECT node, incarnation FROM hosts";

const SIGNAL_KEYS: &str =
    "SELECT promises.id, key, number FROM signal_keys JOIN promises ON promises.n = inv";

const FIRST_VERSION: &str = "SELECT version FROM first_version";

/// The kind of a row in a dump.
#[derive(Clone, Copy)]
pub(crate) enum DumpRowKind {
    Promise,
    Callback,
    Listener,
    Outbox,
    Journal,
    Module,
    Alias,
    Host,
    SignalKey,
    FirstVersion,
    Named(&'static NamedTable),
    Owned(&'static OwnedTable),
    State,
    StreamChunk,
}

const OF_COMPOSITES: [(DumpRowKind, &str); 10] = [
    (DumpRowKind::Promise, PROMISES),
    (DumpRowKind::Callback, CALLBACKS),
    (DumpRowKind::Listener, LISTENERS),
    (DumpRowKind::Outbox, OUTBOX),
    (DumpRowKind::Journal, JOURNALS),
    (DumpRowKind::Module, MODULES),
    (DumpRowKind::Alias, ALIASES),
    (DumpRowKind::Host, HOSTS),
    (DumpRowKind::SignalKey, SIGNAL_KEYS),
    (DumpRowKind::FirstVersion, FIRST_VERSION),
];

/// All statements of a dump, to be run in one transaction.
pub(crate) fn statements() -> impl Iterator<Item = (DumpRowKind, Cow<'static, str>)> {
    let of_composites = OF_COMPOSITES.map(|(about, text)| (about, Cow::Borrowed(text)));
    let named = NAMED.iter().map(|named| {
        let SqlTable { name, columns, .. } = named.table;
        (DumpRowKind::Named(named), Cow::Owned(format!("SELECT {columns} FROM {name}")))
    });
    let owned = OWNED.iter().map(|owned| (DumpRowKind::Owned(owned), Cow::Owned(owned.select())));
    let state = format!("SELECT {} FROM {}", STATE.columns, STATE.name);
    let state = (DumpRowKind::State, Cow::Owned(state));
    let chunks = format!("SELECT {} FROM {}", STREAM_CHUNKS.columns, STREAM_CHUNKS.name);
    let chunks = (DumpRowKind::StreamChunk, Cow::Owned(chunks));
    of_composites.into_iter().chain(named).chain(owned).chain([state, chunks])
}

/// The lists of the chunks of large values in a row.
pub(crate) fn lists(
    about: DumpRowKind,
    row: &impl RowFields,
) -> Result<Vec<ChunkList>, SqlFailure> {
    Ok(match about {
        DumpRowKind::Promise => stored_promise(row)?.1.lists().cloned().collect(),
        DumpRowKind::Journal => records_list(row, 6)?.into_iter().collect(),
        DumpRowKind::State => state_list(row)?.into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Adds a row of a dump to the view; `chunks` has those of [`lists`].
pub(crate) fn put(
    view: &mut View,
    about: DumpRowKind,
    row: &impl RowFields,
    chunks: &ChunkSet,
) -> Result<(), SqlFailure> {
    match about {
        DumpRowKind::Promise => {
            let promise = stored_promise(row)?.1.whole(chunks)?;
            if let Some(task) = task(row, promise.id())? {
                view.put_task(task);
            }
            view.put_promise(promise);
        }
        DumpRowKind::Callback => {
            let (awaited, awaiter) = (id(row, 0)?, id(row, 1)?);
            let consumed = number(row, 2, &awaited, "consumed")? != 0;
            view.put_callback(awaited, awaiter, consumed);
        }
        DumpRowKind::Listener => view.put_listener(id(row, 0)?, text(row, 1)?),
        DumpRowKind::Outbox => {
            let (key, message) = outbox(row, 1, &id(row, 0)?)?;
            view.put_outbox(key, message);
        }
        DumpRowKind::Journal => {
            let invocation = id(row, 0)?;
            let head = head(row, 1, &invocation)?;
            view.extend_tail(&invocation, records(row, 6, &invocation, chunks)?);
            view.put_head(invocation, head);
        }
        DumpRowKind::Module => {
            let (module, facts) = module_facts(row, 0, 1)?;
            view.put_module_facts(module, facts);
        }
        DumpRowKind::Alias => view.put_alias(text(row, 0)?, digest_at(row, 1)?),
        DumpRowKind::Host => {
            let node = text(row, 0)?;
            let lives = number(row, 1, &node, "incarnation")?.cast_unsigned();
            view.put_host(HostName::new(node.as_str()), lives);
        }
        DumpRowKind::SignalKey => {
            let invocation = id(row, 0)?;
            let n = small(row, 2, &invocation, "number")?;
            view.put_signal_key(invocation, text(row, 1)?, n);
        }
        DumpRowKind::Named(named) => (named.read)(row, view)?,
        DumpRowKind::Owned(owned) => (owned.read)(row, 0, view)?,
        DumpRowKind::State => {
            let (key, value) = state(row, chunks)?;
            view.put_state(key, value);
        }
        DumpRowKind::StreamChunk => view.put_stream_chunk(stream_chunk(row)?),
        DumpRowKind::FirstVersion => {
            let version = number(row, 0, &"first_version", "version")?.cast_unsigned();
            view.raise_first_version(Version(version));
        }
    }
    Ok(())
}
