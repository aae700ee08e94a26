//! Which rows a decision reads. A store loads exactly these before it asks for the decision.
//!
//! 1. Load what the command names: its [`footprint`].
//! 2. Ask [`widen`] with what is loaded, load what it names and is not loaded yet, and repeat until
//!    it names nothing new (three times at most: signals and cancelled children are known only
//!    then, and their awaiters after that).
//!
//! A store that puts several commands into one transaction may load the union for all of them
//! first, but runs `widen` again for each command on the state the previous one left; mostly that
//! loads nothing.

mod follows;
mod named;
mod wider;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    command::Command,
    id::{Claim, Digest, NodeName, ObjectId, PromiseId, ResourceName, ScheduleId},
    limit::{LimitName, PartitionId},
    promise::OutboxKey,
    value::Text,
};

pub use self::{named::footprint, wider::widen};

/// Rows to load. Rows that do not exist are simply not put; a decision takes absent for not
/// existing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Whole composites: the promise, its task, all callbacks on it and all callbacks by it, its
    /// listeners, its `Execute` row, and the head of its journal.
    pub composites: BTreeSet<PromiseId>,
    /// Only the promise and its task.
    pub rows: BTreeSet<PromiseId>,
    /// Records of a journal from this place to its end (`View::put_tail`).
    pub tails: BTreeMap<PromiseId, u32>,
    /// Pending attached promises of an invocation ([`crate::promise::Promise::attached_to`]), by
    /// id: whole composites.
    pub children: BTreeMap<PromiseId, ChildPage>,
    /// A promise and everything made by its members, up to a limit: whole composites, with all
    /// messages about them (`View::put_tree`).
    pub trees: BTreeMap<PromiseId, u32>,
    /// Roots: what is counted of their trees.
    pub tree_counts: BTreeSet<PromiseId>,
    /// Messages.
    pub outbox: BTreeSet<OutboxKey>,
    /// Aliases.
    pub aliases: BTreeSet<Text>,
    /// Modules: whether they were uploaded.
    pub modules: BTreeSet<Digest>,
    /// Hosts: their incarnation.
    pub hosts: BTreeSet<NodeName>,
    /// Hosts: the rows (promise and task) of every acquired task they hold.
    pub held_by: BTreeSet<NodeName>,
    /// Keys of signals.
    pub signal_keys: BTreeSet<(PromiseId, Text)>,
    /// Schedules.
    pub schedules: BTreeSet<ScheduleId>,
    /// Resources, with the leases on them.
    pub resources: BTreeSet<ResourceName>,
    /// Invocations: all facts of their sagas.
    pub facts: BTreeSet<PromiseId>,
    /// Objects: their lines.
    pub lines: BTreeSet<ObjectId>,
    /// Objects: their promises (`View::promises_of`), one more than [`TREE_LIMIT`] at most, as whole
    /// composites, with all messages about them.
    pub promises_of: BTreeSet<ObjectId>,
    /// Limits.
    pub limits: BTreeSet<LimitName>,
    /// Keys of limits.
    pub partitions: BTreeSet<PartitionId>,
    /// Executions: where they stand behind their limits.
    pub places: BTreeSet<PromiseId>,
    /// Limits: of its partitions this number whose turn is next, and this number that are to be
    /// looked at next (`View::next_partitions`).
    pub rounds: BTreeMap<LimitName, u32>,
    /// Limits: a page of all their partitions (`View::partitions_of`).
    pub sweeps: BTreeMap<LimitName, SweepPage>,
    /// Lanes: the places of this number of those who wait there, the first ones
    /// (`View::waiting`).
    pub lanes: BTreeMap<(PartitionId, u8), u32>,
}

/// A page of the partitions of a limit, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPage {
    /// Only ids after this one.
    pub after: Option<PartitionId>,
    /// At most this number.
    pub limit: u32,
}

/// A page of an invocation's pending children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildPage {
    /// Only ids after this one.
    pub after: Option<PromiseId>,
    /// At most this number, the lowest ids.
    pub limit: u32,
    /// Only those that were not asked to stop (`View::was_asked_to_stop`).
    pub unasked: bool,
}

/// How many children one command cancels.
pub const CHILD_PAGE: u32 = 128;
/// How many promises one command removes.
pub const TREE_LIMIT: u32 = 1_024;

/// The claim that a command rests on alone: as long as all that follows from it are records and
/// lines of that claim's journal ([`crate::delta::Delta::only_appends`]), the decision reads
/// nothing but where the promise stands and its deadline ([`crate::promise::Promise::bare`]), the
/// task, and the head of the journal. None for commands that read more.
pub fn rests_on(command: &Command) -> Option<&Claim> {
    let Command::TaskFence { claim, actions, .. } = command else { return None };
    actions.is_empty().then_some(claim)
}

impl Footprint {
    /// Whether it names no row.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the rows another command needs.
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
