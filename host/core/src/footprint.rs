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

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    address::{Address, ModuleRef},
    command::{Command, FenceAct},
    graph,
    id::{Claim, Digest, NodeName, ObjectId, PromiseId, ResourceName, ScheduleId},
    invocation::Record,
    limit::{LimitName, PartitionId, Pick, PlaceState, key_of},
    promise::{Message, NewPromise, OutboxKey, Promise, Schedule, Template, module_named},
    saga::StepTags,
    tags,
    time::Timestamp,
    transition::{
        LEAVE_ROUND, Leaving, Left, ROUND, SWEEP, declared, limit_name, planned, turn_in,
    },
    update,
    value::{Tags, Text, Value},
    view::View,
};

/// Rows to load. Rows that do not exist are simply not put; a decision takes absent for not
/// existing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Whole composites: the promise, its task, all callbacks on it and all callbacks by it, its
    /// listeners, its `Execute` row, and the head of its journal.
    pub composites: BTreeSet<PromiseId>,
    /// Only the promise and its task.
    pub rows: BTreeSet<PromiseId>,
    /// Records of a journal from this place to its end ([`View::put_tail`]).
    pub tails: BTreeMap<PromiseId, u32>,
    /// Pending attached promises of an invocation ([`crate::promise::Promise::attached_to`]), by
    /// id: whole composites.
    pub children: BTreeMap<PromiseId, ChildPage>,
    /// A promise and everything made by its members, up to a limit: whole composites, with all
    /// messages about them ([`View::put_tree`]).
    pub trees: BTreeMap<PromiseId, u32>,
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
    /// Objects: their promises ([`View::promises_of`]), one more than [`TREE_LIMIT`] at most, as whole
    /// composites, with all messages about them.
    pub promises_of: BTreeSet<ObjectId>,
    /// Limits.
    pub limits: BTreeSet<LimitName>,
    /// Keys of limits.
    pub partitions: BTreeSet<PartitionId>,
    /// Executions: where they stand behind their limits.
    pub places: BTreeSet<PromiseId>,
    /// Limits: of its partitions this number whose turn is next, and this number that are to be
    /// looked at next ([`View::next_partitions`]).
    pub rounds: BTreeMap<LimitName, u32>,
    /// Limits: a page of all their partitions ([`View::partitions_of`]).
    pub sweeps: BTreeMap<LimitName, SweepPage>,
    /// Lanes: the places of this number of those who wait there, the first ones
    /// ([`View::waiting`]).
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
    /// Only those that were not asked to stop ([`View::was_asked_to_stop`]).
    pub unasked: bool,
}

/// How many children one command cancels.
pub const CHILD_PAGE: u32 = 128;
/// How many promises one command removes.
pub const TREE_LIMIT: u32 = 1_024;

/// The rows a command names.
pub fn footprint(command: &Command) -> Footprint {
    let mut rows = Footprint::default();
    match command {
        Command::PromiseGet { id }
        | Command::PromiseSettle { id, .. }
        | Command::TaskGet { id }
        | Command::TaskHalt { id }
        | Command::TaskContinue { id }
        | Command::Cancel { invocation: id }
        | Command::Kill { invocation: id }
        | Command::JournalRemove { id }
        | Command::PromiseDue { id }
        | Command::LeaseDue { id }
        | Command::RetryDue { id }
        | Command::HostRelease { id, .. } => rows.composite(id),
        Command::TaskMigrate { id, module, .. } => {
            rows.composite(id);
            rows.modules.insert(*module);
        }
        Command::PromiseCreate(new) | Command::TaskCreate { new, .. } => rows.create(new),
        Command::TaskBegin { new, first, .. } => {
            rows.create(new);
            first.iter().for_each(|command| rows.merge(footprint(command)));
        }
        Command::InvocationFork(fork) => {
            rows.create(&fork.new);
            rows.modules.extend(fork.module);
            rows.composites.extend(fork.promises());
        }
        Command::RegisterCallback { awaited, awaiter } => {
            rows.composite(awaited);
            rows.composite(awaiter);
        }
        Command::RegisterListener { awaited, .. } => rows.composite(awaited),
        Command::TaskAcquire { claim, .. } | Command::TaskRelease { claim, .. } => {
            rows.composite(&claim.id)
        }
        Command::TaskHeartbeat { holder, items } => {
            items.iter().for_each(|item| rows.composite(&item.claim.id));
            rows.hosts.insert(holder.node.clone());
        }
        Command::WorkerHeartbeat { holder } | Command::WorkerGone { holder, .. } => {
            rows.held_by.insert(holder.node.clone());
        }
        Command::TaskFence { claim, actions, .. } => {
            rows.composite(&claim.id);
            for action in actions {
                if let FenceAct::Create { new } | FenceAct::CreateLoose { new } = &action.act {
                    rows.create(new);
                } else if let Some(id) = action.act.promise() {
                    rows.composite(id);
                }
                if let FenceAct::Signal { invocation, .. } = &action.act {
                    rows.signal_keys.insert((invocation.clone(), action.signal_key(&claim.id)));
                }
            }
        }
        Command::TaskSuspend { claim, awaits, .. } => {
            rows.composite(&claim.id);
            awaits.iter().for_each(|id| rows.composite(id));
        }
        Command::TaskFulfill { claim, .. } => rows.composite(&claim.id),
        Command::Signal { invocation, key, .. } => {
            rows.composite(invocation);
            rows.signal_keys.extend(key.clone().map(|key| (invocation.clone(), key)));
        }
        Command::Update { invocation, name, key, .. } => {
            rows.composite(invocation);
            let key = key.as_ref().map(|key| update::signal_key(name, key));
            rows.signal_keys.extend(key.map(|key| (invocation.clone(), key)));
        }
        Command::Deploy { alias, module } | Command::Undeploy { alias, module } => {
            rows.aliases.insert(alias.clone());
            rows.modules.insert(*module);
        }
        Command::ResourceGet { name }
        | Command::ResourceLease { name, .. }
        | Command::FencedPut { name, .. } => {
            rows.resources.insert(name.clone());
        }
        Command::ObjectWrite { object, write } => {
            rows.lines.insert(object.clone());
            rows.promises_of.extend(write.leaves_nothing().then(|| object.clone()));
        }
        Command::LimitSet { name, .. } => {
            rows.limit(name);
        }
        Command::LimitDue { name } => {
            rows.limit(name);
            rows.rounds.insert(name.clone(), ROUND);
        }
        Command::ScheduleCreate(new) => {
            rows.schedules.insert(new.id.clone());
            rows.named_by(&new.template.tags);
        }
        Command::ScheduleDelete { id }
        | Command::SchedulePause { id, .. }
        | Command::ScheduleBackfill { id, .. }
        | Command::ScheduleDue { id } => {
            rows.schedules.insert(id.clone());
        }
        Command::OutboxDue { key } => {
            rows.composite(key.promise());
            rows.outbox.insert(key.clone());
            if let OutboxKey::LeaveLimit(_, name) = key {
                rows.limit(name);
                rows.rounds.insert(name.clone(), LEAVE_ROUND);
            }
        }
        Command::OutboxAck { key } | Command::OutboxDefer { key, .. } => {
            rows.outbox.insert(key.clone());
        }
        Command::HostStart { node } => {
            rows.hosts.insert(node.clone());
            rows.held_by.insert(node.clone());
        }
        Command::Prune { top, .. } => {
            rows.trees.insert(top.clone(), TREE_LIMIT);
        }
        Command::Reconcile { id } => {
            rows.composite(id);
            rows.outbox.insert(OutboxKey::CancelChildren(id.clone()));
            rows.children.insert(id.clone(), ChildPage { after: None, limit: 1, unasked: true });
            rows.facts.insert(id.clone());
        }
    }
    rows
}

/// The rows a command needs beside those it names (`named`, its [`footprint`]), as far as the
/// loaded ones tell.
pub fn widen(view: &View, command: &Command, named: &Footprint) -> Footprint {
    let mut wider = Footprint::default();
    // A settlement reads the tasks of those who await it. Which promises settle depends on the
    // time, so every named pending promise counts.
    for id in &named.composites {
        wider.settles(view, id);
    }
    match command {
        Command::PromiseCreate(new) => wider.joins(view, new, None),
        Command::TaskCreate { new, .. } => {
            wider.joins(view, new, None);
            wider.takes_turn(view, &new.id);
        }
        Command::InvocationFork(fork) => {
            wider.joins(view, &fork.new, None);
            wider.repeated(view, &fork.new.id, &fork.records);
        }
        Command::TaskAcquire { claim, .. } => wider.takes_turn(view, &claim.id),
        Command::RegisterCallback { awaiter, .. } => {
            wider.lines.extend(view.promise(awaiter).and_then(turn_in));
            wider.place_of(view, awaiter);
        }
        Command::ObjectWrite { object, write } => {
            let line = view.line(object).into_iter();
            wider.rows.extend(line.flat_map(|line| line.members().cloned()));
            if write.leaves_nothing() {
                wider.awaiters_of_promises(view, object);
            }
        }
        Command::TaskFence { claim, records, actions, .. } => {
            wider.repeated(view, &claim.id, records);
            let mut writes_state = false;
            let mut sent: BTreeMap<&PromiseId, u32> = BTreeMap::new();
            let caller = Caller::of(view, &claim.id);
            for action in actions {
                match &action.act {
                    FenceAct::Create { new } => wider.joins(view, new, caller.as_ref()),
                    FenceAct::CreateLoose { new } => wider.joins(view, new, None),
                    FenceAct::State(_) => writes_state = true,
                    FenceAct::Signal { invocation, name, .. } => {
                        let before = sent.entry(invocation).or_default();
                        wider.hears(view, invocation, name, *before);
                        *before += 1;
                    }
                    _ => {}
                }
            }
            if writes_state {
                wider.lines.extend(view.promise(&claim.id).and_then(turn_in));
            }
            // A step that this very fence makes may be settled by it.
            let steps = actions.iter().filter(|action| match &action.act {
                FenceAct::Create { new } => is_step(&claim.id, &new.id, &new.tags),
                _ => false,
            });
            wider.facts.extend(steps.map(|_| claim.id.clone()));
        }
        Command::TaskSuspend { claim, records, .. }
        | Command::TaskFulfill { claim, records, .. } => wider.repeated(view, &claim.id, records),
        Command::TaskBegin { new, module, first, .. } => {
            wider.joins(view, new, None);
            let caller = Caller::begun(new, *module);
            for action in first.iter().flat_map(Command::actions) {
                if let FenceAct::Create { new } = &action.act {
                    wider.joins(view, new, Some(&caller));
                }
            }
            // What they name is named by the whole.
            let named = Footprint::default();
            first.iter().for_each(|command| wider.merge(widen(view, command, &named)));
        }
        Command::Signal { invocation, name, .. } => {
            wider.hears(view, invocation, name, 0);
        }
        Command::Update { invocation, .. } => {
            if let Some(task) = view.task(invocation) {
                let signal = invocation.signal(task.signals);
                wider.settles(view, &signal);
                wider.composites.extend([signal, invocation.answer(task.signals)]);
            }
        }
        Command::OutboxDue { key: key @ OutboxKey::CancelChildren(parent) } => {
            if let Some(Message::CancelChildren { after }) =
                view.outbox_row(key).map(|row| &row.message)
            {
                let page = ChildPage { after: after.clone(), limit: CHILD_PAGE, unasked: false };
                for child in view.children(parent, after.as_ref()).take(CHILD_PAGE as usize) {
                    wider.settles(view, child);
                }
                wider.children.insert(parent.clone(), page);
            }
        }
        Command::OutboxDue { key: key @ OutboxKey::LeaveLimit(id, name) } => {
            if let Some(row) = view.outbox_row(key)
                && let Message::LeaveLimit { admitted } = row.message
            {
                let leaving = Leaving::of(view.promise(id), admitted, row.created_at);
                wider.admits(view, name, &leaving);
            }
        }
        Command::LimitDue { name } => {
            if let Some(due_at) = view.limit(name).and_then(|limit| limit.due_at) {
                wider.admits(view, name, &Leaving::nobody(due_at));
            }
        }
        Command::Deploy { alias, module } | Command::Undeploy { alias, module } => {
            let modules = [view.alias(alias), Some(*module)].into_iter().flatten();
            let facts = modules.filter_map(|module| view.module_facts(&module));
            let functions = facts.flat_map(|facts| facts.limits.keys());
            wider.limits.extend(functions.map(|function| LimitName::of(alias, function)));
        }
        Command::ScheduleDue { id } => {
            if let Some(schedule) = view.schedule(id) {
                wider.occurrences(view, schedule, [schedule.next_at]);
            }
        }
        Command::ScheduleBackfill { id, from, to } => {
            if let Some(schedule) = view.schedule(id) {
                wider.occurrences(view, schedule, schedule.backfill_page(*from, *to).0);
            }
        }
        Command::Prune { top, state, .. } => {
            let tree = view.tree(top);
            let mut objects = BTreeSet::new();
            for member in &tree.members {
                wider.rows.extend(view.callbacks_on(member).map(|(by, _)| by.clone()));
                objects.extend(view.promise(member).and_then(turn_in));
            }
            for object in &objects {
                let Some(line) = view.line(object) else { continue };
                wider.rows.insert(line.tail.clone());
                if Left::of(view, object, line, &tree.members, *state).nothing {
                    wider.promises_of.insert(object.clone());
                    wider.awaiters_of_promises(view, object);
                }
            }
            wider.lines.extend(objects);
        }
        Command::Reconcile { id } => {
            for awaited in view.awaited_by(id) {
                wider.rows.insert(awaited.clone());
            }
            if let Some(last) = view.head(id).len.checked_sub(1) {
                wider.tails.insert(id.clone(), last);
            }
        }
        Command::PromiseGet { .. }
        | Command::PromiseSettle { .. }
        | Command::RegisterListener { .. }
        | Command::TaskGet { .. }
        | Command::TaskHeartbeat { .. }
        | Command::WorkerHeartbeat { .. }
        | Command::WorkerGone { .. }
        | Command::TaskRelease { .. }
        | Command::TaskHalt { .. }
        | Command::TaskContinue { .. }
        | Command::TaskMigrate { .. }
        | Command::JournalRemove { .. }
        | Command::Cancel { .. }
        | Command::Kill { .. }
        | Command::LimitSet { .. }
        | Command::ResourceGet { .. }
        | Command::ResourceLease { .. }
        | Command::FencedPut { .. }
        | Command::ScheduleCreate(_)
        | Command::ScheduleDelete { .. }
        | Command::SchedulePause { .. }
        | Command::PromiseDue { .. }
        | Command::LeaseDue { .. }
        | Command::RetryDue { .. }
        | Command::OutboxDue { .. }
        | Command::OutboxAck { .. }
        | Command::OutboxDefer { .. }
        | Command::HostStart { .. }
        | Command::HostRelease { .. } => {}
    }
    wider
}

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

    /// Who awaits the promises of an object.
    fn awaiters_of_promises(&mut self, view: &View, object: &ObjectId) {
        for promise in view.promises_of(object) {
            self.rows.extend(view.callbacks_on(promise.id()).map(|(by, _)| by.clone()));
        }
    }

    /// A limit, with the module whose declaration holds where it has no row.
    fn limit(&mut self, name: &LimitName) {
        self.aliases.extend(name.parts().map(|(module, _)| Text::from(module)));
        self.limits.insert(name.clone());
    }

    fn composite(&mut self, id: &PromiseId) {
        self.composites.insert(id.clone());
    }

    fn create(&mut self, new: &NewPromise) {
        self.composite(&new.id);
        self.named_by(&new.tags);
    }

    /// The module and the object that a target names.
    fn named_by(&mut self, tags: &Tags) {
        let Some(Ok(address)) = tags::target(tags).map(Address::parse) else { return };
        self.lines.extend(address.object());
        self.limits.extend(limit_name(&address, None));
        let target = match address {
            Address::Wasm { .. } | Address::Service { .. } => {
                address.named().map(|(module, _)| module)
            }
            address if address.is_graph_run() => {
                tags.get(tags::MODULE).and_then(|module| ModuleRef::parse(module))
            }
            _ => None,
        };
        if let Some(module) = target {
            match module {
                ModuleRef::Own => {}
                ModuleRef::Alias(alias) => {
                    self.aliases.insert(alias);
                }
                ModuleRef::Exact(digest) => {
                    self.modules.insert(digest);
                }
            }
        }
    }

    /// What a schedule makes at these instants, and the last thing it made.
    fn occurrences(
        &mut self,
        view: &View,
        schedule: &Schedule,
        at: impl IntoIterator<Item = Timestamp>,
    ) {
        let made = at.into_iter().map(|at| schedule.promise_at(at));
        for id in made.chain(schedule.last_id.clone()) {
            self.settles(view, &id);
            self.composites.insert(id);
        }
        self.named_by(&schedule.template.tags);
        let Template { param, tags, .. } = &schedule.template;
        self.joins_as(view, tags, param, None);
    }

    /// Who is last in the line that a new execution joins, and the limit that it comes to.
    fn joins(&mut self, view: &View, new: &NewPromise, caller: Option<&Caller>) {
        self.joins_as(view, &new.tags, &new.param, caller);
    }

    fn joins_as(&mut self, view: &View, tags: &Tags, param: &Value, caller: Option<&Caller>) {
        let Some(Ok(address)) = tags::target(tags).map(Address::parse) else { return };
        if let Some(line) = address.object().and_then(|object| view.line(&object)) {
            self.composites.insert(line.tail.clone());
        }
        let caller_name = caller.map(|caller| caller.name.as_str());
        let Some(name) = limit_name(&address, caller_name) else { return };
        let own = caller.and_then(|caller| caller.module);
        let own = own.filter(|_| matches!(address, Address::Wasm { module: ModuleRef::Own, .. }));
        self.modules.extend(own);
        let known = view.limit(&name).cloned();
        let limit = known.unwrap_or_else(|| declared(view, &name, own.as_ref()));
        let partition = limit.rule().and_then(|rule| key_of(&name, rule, param).ok());
        partition.into_iter().for_each(|key| self.comes_to(view, &name.partition(&key)));
        self.limits.insert(name);
    }

    /// The promise of a signal to an invocation, after `before` others of the same transaction.
    fn hears(&mut self, view: &View, invocation: &PromiseId, name: &str, before: u32) {
        let (Some(promise), Some(task)) = (view.promise(invocation), view.task(invocation)) else {
            return;
        };
        let signal = match graph::is_run(promise) {
            true => invocation.run_signal(name),
            false => invocation.signal(task.signals.saturating_add(before)),
        };
        self.settles(view, &signal);
        self.composites.insert(signal);
    }

    /// The key of a limit that an execution comes to, and who may have to give way.
    fn comes_to(&mut self, view: &View, partition: &PartitionId) {
        if let Some(latest) = view.partition(partition).and_then(|row| row.latest.as_ref()) {
            self.settles(view, latest);
            self.composites.insert(latest.clone());
        }
        self.partitions.insert(partition.clone());
    }

    /// Where an execution stands behind its limit, if it is behind one.
    fn place_of(&mut self, view: &View, id: &PromiseId) {
        let promise =
            view.promise(id).filter(|promise| promise.spec.tags.contains_key(tags::LIMIT));
        self.places.extend(promise.map(|_| id.clone()));
    }

    /// The rows of a round of admissions.
    fn admits(&mut self, view: &View, name: &LimitName, leaving: &Leaving) {
        let Some(limit) = view.limit(name) else { return };
        self.rounds.insert(name.clone(), leaving.most);
        if let Some(sweep) = &limit.sweep {
            let page = SweepPage { after: sweep.after.clone(), limit: SWEEP };
            self.sweeps.insert(name.clone(), page);
        }
        self.partitions.extend(leaving.left.iter().map(|(partition, ..)| partition.clone()));
        for Pick { partition, priority } in planned(view, name, leaving) {
            *self.lanes.entry((partition, priority)).or_default() += 1;
        }
        for ((partition, priority), most) in &self.lanes {
            let waiting = view.waiting(partition, *priority).into_iter();
            self.rows.extend(waiting.take(*most as usize).cloned());
        }
    }

    /// The line of an execution that needs a turn, with who has it and who is last, and what the
    /// execution waits for.
    fn takes_turn(&mut self, view: &View, id: &PromiseId) {
        self.comes_in(view, id);
        let Some(object) = view.promise(id).and_then(turn_in) else { return };
        if let Some(line) = view.line(&object) {
            self.composites.extend(line.members().cloned());
        }
        self.rows.extend(view.awaited_by(id).cloned());
        self.lines.insert(object);
    }

    /// Where an execution stands behind its limit, and the limit, if it comes to it now.
    fn comes_in(&mut self, view: &View, id: &PromiseId) {
        self.place_of(view, id);
        let Some(place) = view.place(id).filter(|place| place.state == PlaceState::Expected) else {
            return;
        };
        self.limit(&place.partition.limit());
        self.modules.extend(view.task(id).and_then(|task| task.module));
        self.comes_to(view, &place.partition);
    }

    /// The line of an execution that may be waiting for its turn, and whom it is behind.
    fn leaves_line(&mut self, view: &View, promise: &Promise) {
        let id = promise.id();
        let Some(object) = turn_in(promise).filter(|_| view.awaited_by(id).next().is_some()) else {
            return;
        };
        for awaited in view.awaited_by(id) {
            self.rows.insert(awaited.clone());
            if view.promise(awaited).and_then(turn_in).as_ref() == Some(&object) {
                self.composites.insert(awaited.clone());
            }
        }
        self.lines.insert(object);
    }

    /// What the settlement of a promise reads: who awaits it, and the facts of the saga it is a
    /// part of.
    fn settles(&mut self, view: &View, id: &PromiseId) {
        self.rows.extend(view.callbacks_on(id).map(|(awaiter, _)| awaiter.clone()));
        let pending = view.promise(id).filter(|promise| promise.is_pending());
        pending.into_iter().for_each(|promise| self.leaves_line(view, promise));
        pending.into_iter().for_each(|promise| self.place_of(view, promise.id()));
        if let Some(promise) = pending
            && let Some(owner) = &promise.spec.made_by
            && is_step(owner, id, &promise.spec.tags)
        {
            self.facts.insert(owner.clone());
        }
    }

    fn repeated(&mut self, view: &View, invocation: &PromiseId, records: &[Record]) {
        if let Some(first) = records.first()
            && first.seq < view.head(invocation).len
        {
            self.tails.insert(invocation.clone(), first.seq);
        }
    }
}

/// Within which module a function is called.
struct Caller {
    /// The module's name.
    name: String,
    /// The code.
    module: Option<Digest>,
}

impl Caller {
    fn of(view: &View, id: &PromiseId) -> Option<Self> {
        let module = view.task(id).and_then(|task| task.module);
        Some(Self { name: view.promise(id)?.module_name(), module })
    }

    /// An invocation that is not there yet.
    fn begun(new: &NewPromise, module: Digest) -> Self {
        Self { name: module_named(&new.tags).unwrap_or_default(), module: Some(module) }
    }
}

/// Whether a promise of this invocation is a step of a saga, or the compensation of one.
fn is_step(invocation: &PromiseId, id: &PromiseId, tags: &Tags) -> bool {
    StepTags::of(tags).is_some() || id.compensates(invocation).is_some()
}
