//! The rows that a decision reads. A store loads exactly these before it asks for the decision.
//!
//! 1. Load the rows that the command names: its [`footprint`].
//! 2. Call [`widen`] with the loaded rows, load the rows that it names and that are missing, and
//!    repeat until it names no new ones (three times at most: signals and cancelled children are
//!    only known then, and their awaiters after that).
//!
//! A store that puts several commands into one transaction may load the union for all of them
//! first, but calls `widen` again for each command on the state that the previous one left. Usually
//! that loads nothing.

mod follows;
mod named;
mod split;
mod wider;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    command::Command,
    id::{Claim, Digest, HostName, ObjectId, PromiseId, ResourceName, ScheduleId, StreamId},
    limit::{LimitName, PartitionId},
    promise::OutboxKey,
    value::Text,
};

pub use self::{named::footprint, wider::widen};

/// Rows to load. Missing rows are not put into the view; a decision treats absent as nonexistent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Whole composites: the promise, its task, all callbacks on it and by it, its listeners, its
    /// `Execute` row, and the head of its journal.
    pub composites: BTreeSet<PromiseId>,
    /// Only the promise and its task.
    pub rows: BTreeSet<PromiseId>,
    /// Journals: their records from this index to the end (`View::put_tail`).
    pub tails: BTreeMap<PromiseId, u32>,
    /// Pending attached promises of an invocation ([`crate::promise::Promise::attached_to`]), by
    /// id: whole composites.
    pub children: BTreeMap<PromiseId, ChildPage>,
    /// A promise and everything created by its members, up to a limit: whole composites, with all
    /// messages about them (`View::put_tree`).
    pub trees: BTreeMap<PromiseId, u32>,
    /// Roots: the counts of their trees.
    pub tree_counts: BTreeSet<PromiseId>,
    /// Accounts: their budgets.
    pub budgets: BTreeSet<PromiseId>,
    pub outbox: BTreeSet<OutboxKey>,
    pub aliases: BTreeSet<Text>,
    /// Modules: existence of the upload.
    pub modules: BTreeSet<Digest>,
    /// Hosts: their incarnation.
    pub hosts: BTreeSet<HostName>,
    /// Hosts: the rows (promise and task) of every acquired task they hold.
    pub held_by: BTreeSet<HostName>,
    pub signal_keys: BTreeSet<(PromiseId, Text)>,
    pub schedules: BTreeSet<ScheduleId>,
    /// Resources, with the leases on them.
    pub resources: BTreeSet<ResourceName>,
    /// Invocations: all facts of their sagas.
    pub facts: BTreeSet<PromiseId>,
    /// Objects: their queues.
    pub lines: BTreeSet<ObjectId>,
    /// Objects: their promises (`View::promises_of`) as whole composites, with all messages about
    /// them; at most one more than [`TREE_LIMIT`].
    pub promises_of: BTreeSet<ObjectId>,
    pub limits: BTreeSet<LimitName>,
    pub partitions: BTreeSet<PartitionId>,
    /// Executions: their places behind limits.
    pub places: BTreeSet<PromiseId>,
    /// Limits: this number of partitions next in turn, and this number of partitions to be examined
    /// next (`View::next_partitions`).
    pub rounds: BTreeMap<LimitName, u32>,
    /// Limits: a page of all their partitions (`View::partitions_of`).
    pub sweeps: BTreeMap<LimitName, SweepPage>,
    pub streams: BTreeSet<StreamId>,
    /// Streams: all their data.
    pub stream_data: BTreeSet<StreamId>,
    /// Lanes: the places of the first waiting executions, up to this number (`View::waiting`).
    pub lanes: BTreeMap<(PartitionId, u8), u32>,
}

/// A page of the partitions of a limit, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPage {
    /// Cursor: only ids after this one.
    pub after: Option<PartitionId>,
    /// Maximum number of partitions.
    pub limit: u32,
}

/// A page of an invocation's pending children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildPage {
    /// Cursor: only ids after this one.
    pub after: Option<PromiseId>,
    /// Maximum number of children; the lowest ids are returned.
    pub limit: u32,
    /// Only children that have no stop request (`View::was_asked_to_stop`).
    pub unasked: bool,
}

/// Number of children that one command cancels.
pub const CHILD_PAGE: u32 = 128;
/// Number of promises that one command removes.
pub const TREE_LIMIT: u32 = 1_024;

/// The claim of a command that depends on nothing else. As long as such a command only writes
/// records and log lines of that claim's journal ([`crate::delta::Delta::only_appends`]), its
/// decision reads only the state and the deadline of the promise
/// ([`crate::promise::Promise::bare`]), the task, and the head of the journal. `None` for commands
/// that read more.
pub fn rests_on(command: &Command) -> Option<&Claim> {
    let Command::TaskFence { claim, actions, .. } = command else { return None };
    actions.is_empty().then_some(claim)
}

impl Footprint {
    /// True if there are no rows to load.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the rows that another command needs.
    pub fn merge(&mut self, other: Self) {
        self.composites.extend(other.composites);
        self.rows.extend(other.rows);
        for (id, from) in other.tails {
            self.tails.entry(id).and_modify(|known| *known = from.min(*known)).or_insert(from);
        }
        for (id, page) in other.children {
            let known = self.children.entry(id).or_insert_with(|| page.clone());
            known.after = known.after.take().min(page.after);
            known.limit = known.limit.max(page.limit);
            known.unasked &= page.unasked;
        }
        for (top, limit) in other.trees {
            let known = self.trees.entry(top).or_insert(limit);
            *known = limit.max(*known);
        }
        self.tree_counts.extend(other.tree_counts);
        self.budgets.extend(other.budgets);
        self.outbox.extend(other.outbox);
        self.aliases.extend(other.aliases);
        self.modules.extend(other.modules);
        self.hosts.extend(other.hosts);
        self.held_by.extend(other.held_by);
        self.signal_keys.extend(other.signal_keys);
        self.schedules.extend(other.schedules);
        self.resources.extend(other.resources);
        self.facts.extend(other.facts);
        self.lines.extend(other.lines);
        self.promises_of.extend(other.promises_of);
        self.limits.extend(other.limits);
        self.partitions.extend(other.partitions);
        self.places.extend(other.places);
        self.streams.extend(other.streams);
        self.stream_data.extend(other.stream_data);
        for (name, most) in other.rounds {
            let known = self.rounds.entry(name).or_insert(most);
            *known = most.max(*known);
        }
        self.sweeps.extend(other.sweeps);
        for (lane, most) in other.lanes {
            let known = self.lanes.entry(lane).or_insert(most);
            *known = most.max(*known);
        }
    }
}
