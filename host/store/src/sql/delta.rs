//! Converts a delta to rows of cells, with one list per operation on a table.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    delta::{Delta, JournalAppend},
    id::{Digest, PromiseId},
    invocation::LogLine,
    value::Text,
    view::View,
};

use super::{
    CellRow, JournalRow, SqlCell,
    large_value::{ValueOwner, ValueRows},
    rows,
    table::{NAMED, OWNED, StateRows, StreamDataRows},
};

/// Resolves references between rows.
pub(crate) trait RowIds {
    /// The number of a promise that was looked up and exists, or that is new.
    fn promise(&self, id: &PromiseId) -> Option<i64>;
    /// The reference to a module: its number, or its digest if the statement looks up the number.
    fn module(&self, digest: &Digest) -> SqlCell;
}

/// The changes to one table of [`NAMED`].
#[derive(Debug, Default)]
pub(crate) struct NamedRows {
    /// Rows to write.
    pub(crate) put: Vec<CellRow>,
    /// Names of the rows to delete.
    pub(crate) deleted: Vec<CellRow>,
}

/// The rows of one delta.
#[derive(Debug, Default)]
pub(crate) struct DeltaRows {
    /// New promises, in number order.
    pub(crate) new_promises: Vec<[SqlCell; 16]>,
    /// Settled promises: number, state, instant, headers, value, length of a large value.
    pub(crate) settled: Vec<[SqlCell; 6]>,
    pub(crate) tasks: Vec<[SqlCell; 19]>,
    pub(crate) callbacks: Vec<[SqlCell; 3]>,
    pub(crate) deleted_callbacks: Vec<[SqlCell; 2]>,
    pub(crate) listeners: Vec<[SqlCell; 2]>,
    pub(crate) deleted_listeners: Vec<[SqlCell; 2]>,
    pub(crate) outbox: Vec<[SqlCell; 7]>,
    pub(crate) deleted_outbox: Vec<[SqlCell; 3]>,
    pub(crate) journals: Vec<JournalRow>,
    /// Invocations whose journals are dropped.
    pub(crate) dropped_journals: Vec<[SqlCell; 1]>,
    pub(crate) logs: Vec<[SqlCell; 3]>,
    pub(crate) signal_keys: Vec<[SqlCell; 3]>,
    pub(crate) aliases: Vec<[SqlCell; 2]>,
    /// Name and module of each dropped alias.
    pub(crate) dropped_aliases: Vec<[SqlCell; 2]>,
    pub(crate) hosts: Vec<[SqlCell; 2]>,
    /// The changes to each table of [`NAMED`].
    pub(crate) named: Vec<NamedRows>,
    /// The new rows of each table of [`OWNED`].
    pub(crate) owned: Vec<Vec<CellRow>>,
    /// The changes to the state of objects.
    pub(crate) state: StateRows,
    pub(crate) stream_data: StreamDataRows,
    /// The chunks of large values.
    pub(crate) values: ValueRows,
}

impl DeltaRows {
    /// Converts `delta`, which is already applied to `state`. `fresh` are the promises it creates.
    pub(crate) fn of(
        delta: &Delta,
        fresh: &BTreeSet<PromiseId>,
        state: &View,
        numbers: &impl RowIds,
    ) -> Self {
        let number = |id: &PromiseId| {
            numbers
                .promise(id)
                .expect("a decision writes about promises that were looked up or are new")
        };
        let (mut written, mut values) = (Self::default(), ValueRows::default());

        let (new, settled): (Vec<_>, Vec<_>) =
            delta.promises.values().partition(|promise| fresh.contains(promise.id()));
        let mut new: Vec<_> =
            new.into_iter().map(|promise| (number(promise.id()), promise)).collect();
        new.sort_by_key(|(number, _)| *number);
        let new = new.into_iter().map(|(n, promise)| {
            rows::new_promise(n, promise.spec.made_by.as_ref().map(number), promise, &mut values)
        });
        written.new_promises = new.collect();
        let settled = settled.into_iter().filter(|promise| !promise.is_pending()).map(|promise| {
            let n = number(promise.id());
            let [state, at, headers, value, bytes] = rows::settlement(n, promise, &mut values);
            [n.into(), state, at, headers, value, bytes]
        });
        written.settled = settled.collect();

        let tasks = delta.tasks.values().map(|task| {
            let target = state.promise(&task.id).and_then(|promise| promise.target());
            let module = task.module.map_or(SqlCell::Null, |digest| numbers.module(&digest));
            rows::task_cells(number(&task.id), module, target, task)
        });
        written.tasks = tasks.collect();

        for ((awaited, awaiter), consumed) in &delta.callbacks {
            let (awaited, awaiter) =
                (SqlCell::from(number(awaited)), SqlCell::from(number(awaiter)));
            match consumed {
                Some(consumed) => written.callbacks.push([awaited, awaiter, (*consumed).into()]),
                None => written.deleted_callbacks.push([awaited, awaiter]),
            }
        }
        for ((awaited, address), present) in &delta.listeners {
            let row = [number(awaited).into(), address.as_str().into()];
            match present {
                true => written.listeners.push(row),
                false => written.deleted_listeners.push(row),
            }
        }
        for (key, row) in &delta.outbox {
            // A key may name a promise that does not exist, which has no message row either.
            let Some(source) = numbers.promise(key.promise()) else { continue };
            match row {
                Some(row) => written.outbox.push(rows::outbox_cells(source, key, row)),
                None => written.deleted_outbox.push(rows::outbox_key_cells(source, key)),
            }
        }

        let dropped = delta.dropped_journals.iter().map(|id| [number(id).into()]);
        written.dropped_journals = dropped.collect();
        let dropped = delta.dropped_journals.iter().map(number);
        values.released.extend(dropped.map(|n| [ValueOwner::Journal(n).into()]));
        written.journals = journal_rows(&delta.appends, number, &mut values);
        written.logs = log_rows(&delta.logs, number);
        let keys = delta.signal_keys.iter().map(|((invocation, key), n)| {
            [number(invocation).into(), key.as_str().into(), (*n).into()]
        });
        written.signal_keys = keys.collect();
        let alias =
            |(name, digest): (&Text, &Digest)| [name.as_str().into(), numbers.module(digest)];
        written.aliases = delta.aliases.iter().map(alias).collect();
        written.dropped_aliases = delta.dropped_aliases.iter().map(alias).collect();
        let hosts = delta
            .hosts
            .iter()
            .map(|(node, incarnation)| [node.as_str().into(), (*incarnation).into()]);
        written.hosts = hosts.collect();
        let named = NAMED.iter().map(|named| NamedRows {
            put: (named.written)(delta),
            deleted: (named.deleted)(delta),
        });
        written.named = named.collect();
        written.owned = OWNED.iter().map(|owned| (owned.written)(delta, &number)).collect();
        written.state = StateRows::of(delta, &mut values);
        written.stream_data = StreamDataRows::of(delta);
        written.values = values;
        written
    }
}

/// Builds one row per journal, however many commands appended to it.
fn journal_rows(
    appends: &[JournalAppend],
    number: impl Fn(&PromiseId) -> i64,
    values: &mut ValueRows,
) -> Vec<JournalRow> {
    let appends = appends.iter().filter(|append| !append.records.is_empty());
    let mut appends: Vec<_> = appends.map(|append| (number(&append.invocation), append)).collect();
    // A stable sort: the appends to one journal stay in order.
    appends.sort_by_key(|(number, _)| *number);
    let of_one = appends.chunk_by(|(one, _), (other, _)| one == other);
    of_one.filter_map(|appends| JournalRow::of(appends.first()?.0, appends, values)).collect()
}

fn log_rows(
    logs: &[(PromiseId, LogLine)],
    number: impl Fn(&PromiseId) -> i64,
) -> Vec<[SqlCell; 3]> {
    let mut logged: BTreeMap<&PromiseId, Vec<&LogLine>> = BTreeMap::new();
    for (invocation, line) in logs {
        logged.entry(invocation).or_default().push(line);
    }
    let row = |(invocation, lines): (&PromiseId, Vec<&LogLine>)| {
        let encoded = rows::encode_lines(&lines);
        [number(invocation).into(), (lines.len() as i64).into(), encoded.into()]
    };
    logged.into_iter().map(row).collect()
}
