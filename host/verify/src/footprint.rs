//! The footprint of an event: two events with disjoint changes, neither of which read what the
//! other changed, may be exchanged, and no guest can tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use segno_core::{
    invocation::{CommandKind, Record, RecordBody},
    snapshot::Snapshot,
};

/// The rows that an event read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventFootprint {
    /// The event may have read or changed anything.
    All,
    /// The event changed these rows.
    Rows(BTreeSet<String>),
}

impl EventFootprint {
    /// The changes between two states, by one event. An event after which a workflow read something
    /// outside its own rows may depend on all others.
    pub(crate) fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut rows = BTreeSet::new();
        let changed = &mut rows;
        differ("promise", &before.promises, &after.promises, changed);
        differ("task", &before.tasks, &after.tasks, changed);
        differ("callback", &before.callbacks, &after.callbacks, changed);
        differ("outbox", &before.outbox, &after.outbox, changed);
        differ("journal", &before.journals, &after.journals, changed);
        differ("signal", &before.signal_keys, &after.signal_keys, changed);
        differ("fact", &before.facts, &after.facts, changed);
        differ("node", &before.graph_nodes, &after.graph_nodes, changed);
        differ("fact of a node", &before.graph_facts, &after.graph_facts, changed);
        differ("line", &before.lines, &after.lines, changed);
        differ("state", &before.state, &after.state, changed);
        differ("limit", &before.limits, &after.limits, changed);
        differ("partition", &before.partitions, &after.partitions, changed);
        differ("place", &before.places, &after.places, changed);
        differ("resource", &before.resources, &after.resources, changed);
        for (id, journal) in &after.journals {
            let known = before.journals.get(id).map_or(0, |journal| journal.records.len());
            if journal.records.iter().skip(known).any(reads_elsewhere) {
                return Self::All;
            }
        }
        Self::Rows(rows)
    }

    /// Returns true if the two events may be exchanged.
    pub(crate) fn is_independent_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rows(these), Self::Rows(those)) => these.is_disjoint(those),
            _ => false,
        }
    }
}

fn differ<K: Ord + Debug, V: PartialEq>(
    kind: &str,
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
    changed: &mut BTreeSet<String>,
) {
    let now = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    changed.extend(now.map(|(key, _)| format!("{kind} {key:?}")));
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    changed.extend(gone.map(|key| format!("{kind} {key:?}")));
}

/// Returns true if a command reads or changes a row outside its own invocation.
fn reads_elsewhere(record: &Record) -> bool {
    let RecordBody::Command { kind, .. } = &record.body else { return false };
    match kind {
        CommandKind::Call
        | CommandKind::Send
        | CommandKind::Sleep
        | CommandKind::Promise
        | CommandKind::Http
        | CommandKind::Run
        | CommandKind::Cancel
        | CommandKind::AppendStream
        | CommandKind::CloseStream
        | CommandKind::Publish => false,
        CommandKind::Settle
        | CommandKind::GetState
        | CommandKind::SetState
        | CommandKind::ClearState
        | CommandKind::ClearAllState
        | CommandKind::StateKeys
        | CommandKind::WaitObjectPromise
        | CommandKind::PeekObjectPromise
        | CommandKind::SettleObjectPromise
        | CommandKind::Peek
        | CommandKind::Attach
        | CommandKind::Signal
        | CommandKind::SendSignal
        | CommandKind::ContinueAsNew => true,
        CommandKind::Unread => false,
    }
}
