//! Rows that follow from loaded rows: awaiters of a promise, the queue that an execution joins, and
//! so on.

use super::{Footprint, SweepPage};
use crate::{
    address::{Address, ModuleRef},
    command::FenceAction,
    graph,
    id::{Digest, ObjectId, PromiseId, StreamId},
    invocation::{Record, RecordBody},
    limit::{AdmissionPick, LimitName, LimitPositionState, PartitionId, key_of},
    promise::{NewPromise, Promise, PromiseTemplate, Schedule, Task, module_named},
    saga::StepTags,
    tags,
    time::Timestamp,
    transition::{
        RoundTrigger, SWEEP, declared, generation_key, limit_name, planned, turn_in, unread_signals,
    },
    tree::TreeBounds,
    value::{Tags, Text, Value},
    view::View,
};

impl Footprint {
    /// Adds the awaiters of an object's promises.
    pub(super) fn awaiters_of_promises(&mut self, view: &View, object: &ObjectId) {
        for promise in view.promises_of(object) {
            self.rows.extend(view.callbacks_on(promise.id()).map(|(by, _)| by.clone()));
        }
    }

    /// Adds the promises that a schedule creates at these instants, and the last one it created.
    pub(super) fn occurrences(
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
        let PromiseTemplate { param, tags, .. } = &schedule.template;
        self.joins_as(view, tags, param, None);
    }

    /// Adds the counts of the tree in which these actions create executions.
    pub(super) fn grows(
        &mut self,
        view: &View,
        maker: &PromiseId,
        actions: &[FenceAction],
        bounds: &TreeBounds,
    ) {
        let promise = view.promise(maker);
        let was_made = promise.is_some_and(|promise| promise.spec.made_by.is_some());
        if bounds.counts(was_made, actions) {
            match promise {
                Some(promise) => self.tree_counts.extend([promise.root(), promise.scope()]),
                None => drop(self.tree_counts.insert(maker.clone())),
            }
        }
    }

    /// Adds the tail of the queue that a new execution joins, and the limit that applies to it.
    pub(super) fn joins(&mut self, view: &View, new: &NewPromise, caller: Option<&CallerModule>) {
        self.joins_as(view, &new.tags, &new.param, caller);
    }

    pub(super) fn joins_as(
        &mut self,
        view: &View,
        tags: &Tags,
        param: &Value,
        caller: Option<&CallerModule>,
    ) {
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

    /// The newest generation of an invocation, as far as it is loaded.
    pub(super) fn newest(&mut self, view: &View, id: &PromiseId) -> PromiseId {
        let continued = view.promise(id).and_then(|promise| tags::continues(&promise.spec.tags));
        let continued = continued.filter(|_| view.task(id).is_some());
        let first = continued.map_or_else(|| id.clone(), PromiseId::from);
        let newest = view.task(&first).and_then(Task::newest).unwrap_or_else(|| first.clone());
        if first != *id {
            self.composites.insert(first);
        }
        if newest != *id {
            self.composites.insert(newest.clone());
        }
        newest
    }

    /// Adds the promise that an id refers to by a name within a workflow.
    pub(super) fn meant_by(&mut self, view: &View, id: &PromiseId) {
        let owned = id.named_by().find(|(owner, _)| view.task(owner).is_some());
        let Some((owner, name)) = owned else { return };
        let named = self.newest(view, &owner).named(name);
        self.settles(view, &named);
        self.composites.insert(named);
    }

    /// Adds the rows that a generation hands over, and those that its successor creates from them.
    pub(super) fn hands_over(
        &mut self,
        view: &View,
        id: &PromiseId,
        records: &[Record],
        unread: &[u32],
    ) {
        let (Some(promise), Some(task)) = (view.promise(id), view.task(id)) else { return };
        self.named_by(&promise.spec.tags);
        self.modules.extend(task.module);
        let first = match tags::continues(&promise.spec.tags) {
            Some(first) => PromiseId::from(first),
            None => id.clone(),
        };
        let counted = view.task(&first).map_or(0, |task| task.successors);
        let next = first.generation(counted.saturating_add(2));
        self.composites.extend([first, next.clone()]);
        let mut told = task.clone();
        let heard = records.iter().filter(|it| matches!(it.body, RecordBody::Signal { .. }));
        let heard = u32::try_from(heard.count()).unwrap_or(u32::MAX);
        if records.first().is_some_and(|first| first.seq >= view.head(id).len) {
            told.inbox.heard = told.inbox.heard.map(|before| before.saturating_add(heard));
        }
        for (place, n) in (0..).zip(unread_signals(&told, unread)) {
            let moved = [id.signal(n), id.answer(n), next.signal(place), next.answer(place)];
            self.settles(view, &moved[1]);
            self.composites.extend(moved);
        }
        for name in &task.inbox.kept {
            self.composites.extend([id.named(name), next.named(name)]);
        }
    }

    /// Adds the promise of a signal to an invocation, after `before` other signals of the same
    /// transaction.
    pub(super) fn hears(&mut self, view: &View, invocation: &PromiseId, name: &str, before: u32) {
        let invocation = &self.newest(view, invocation);
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

    /// Adds the first signal sent under this key, for comparison.
    pub(super) fn first_under(&mut self, view: &View, invocation: &PromiseId, key: Option<&Text>) {
        let Some(key) = key else { return };
        let continued = view.promise(invocation);
        let continued = continued.and_then(|promise| tags::continues(&promise.spec.tags));
        let first = continued.map_or_else(|| invocation.clone(), PromiseId::from);
        let Some(n) = view.signal_key(&first, key) else { return };
        let generation = view.signal_key(&first, &generation_key(key));
        let told = generation.map_or_else(|| first.clone(), |of| first.generation(of));
        self.rows.insert(told.signal(n));
    }

    /// Adds the partition that an execution enters, and its latest execution, which may be
    /// displaced.
    pub(super) fn comes_to(&mut self, view: &View, partition: &PartitionId) {
        if let Some(latest) = view.partition(partition).and_then(|row| row.latest.as_ref()) {
            self.settles(view, latest);
            self.composites.insert(latest.clone());
        }
        self.partitions.insert(partition.clone());
    }

    /// Adds the place of an execution behind its limit, if it has one.
    pub(super) fn place_of(&mut self, view: &View, id: &PromiseId) {
        let promise =
            view.promise(id).filter(|promise| promise.spec.tags.contains_key(tags::LIMIT));
        self.places.extend(promise.map(|_| id.clone()));
    }

    /// Adds the rows of a round of admissions.
    pub(super) fn admits(&mut self, view: &View, name: &LimitName, leaving: &RoundTrigger) {
        let Some(limit) = view.limit(name) else { return };
        self.rounds.insert(name.clone(), leaving.most);
        if let Some(sweep) = &limit.sweep {
            let page = SweepPage { after: sweep.after.clone(), limit: SWEEP };
            self.sweeps.insert(name.clone(), page);
        }
        self.partitions.extend(leaving.left.iter().map(|(partition, ..)| partition.clone()));
        for AdmissionPick { partition, priority } in planned(view, name, leaving) {
            *self.lanes.entry((partition, priority)).or_default() += 1;
        }
        for ((partition, priority), most) in &self.lanes {
            let waiting = view.waiting(partition, *priority).into_iter();
            self.rows.extend(waiting.take(*most as usize).cloned());
        }
    }

    /// Adds the queue of an execution that needs a turn, with the current and the last member, and
    /// the promises that the execution waits for.
    pub(super) fn takes_turn(&mut self, view: &View, id: &PromiseId) {
        self.comes_in(view, id);
        let Some(object) = view.promise(id).and_then(turn_in) else { return };
        if let Some(line) = view.line(&object) {
            self.composites.extend(line.members().cloned());
        }
        self.rows.extend(view.awaited_by(id).cloned());
        self.lines.insert(object);
    }

    /// Adds the place of an execution behind its limit, and the limit if the execution enters it
    /// now.
    pub(super) fn comes_in(&mut self, view: &View, id: &PromiseId) {
        self.place_of(view, id);
        let Some(place) =
            view.place(id).filter(|place| place.state == LimitPositionState::Expected)
        else {
            return;
        };
        self.limit(&place.partition.limit());
        self.modules.extend(view.task(id).and_then(|task| task.module));
        self.comes_to(view, &place.partition);
    }

    /// Adds the queue of an execution that may be waiting for its turn, and its predecessor.
    pub(super) fn leaves_line(&mut self, view: &View, promise: &Promise) {
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

    /// The source of a stream, which counts its forks.
    pub(super) fn origin_of(&mut self, view: &View, id: &StreamId) {
        let origin = view.stream(id).and_then(|stream| stream.origin.as_ref());
        self.streams.extend(origin.map(|origin| origin.source.clone()));
    }

    /// Adds the rows that the settlement of a promise reads: its awaiters, and the facts of the
    /// saga it belongs to.
    pub(super) fn settles(&mut self, view: &View, id: &PromiseId) {
        self.settles_alone(view, id);
        // The promise that it replaces may settle with it, or its newest generation may be
        // addressed in its place.
        let continued = view.promise(id).and_then(|promise| tags::continues(&promise.spec.tags));
        let newest = view.task(id).and_then(Task::newest);
        for other in continued.map(PromiseId::from).into_iter().chain(newest) {
            self.settles_alone(view, &other);
            self.composites.insert(other);
        }
    }

    fn settles_alone(&mut self, view: &View, id: &PromiseId) {
        self.rows.extend(view.callbacks_on(id).map(|(awaiter, _)| awaiter.clone()));
        let pending = view.promise(id).filter(|promise| promise.is_pending());
        pending.into_iter().for_each(|promise| self.leaves_line(view, promise));
        pending.into_iter().for_each(|promise| self.place_of(view, promise.id()));
        self.budgets.extend(pending.into_iter().flat_map(Promise::accounts));
        if let Some(promise) = pending
            && let Some(owner) = &promise.spec.made_by
            && is_step(owner, id, &promise.spec.tags)
        {
            self.facts.insert(owner.clone());
        }
    }

    pub(super) fn repeated(&mut self, view: &View, invocation: &PromiseId, records: &[Record]) {
        if let Some(first) = records.first()
            && first.seq < view.head(invocation).len
        {
            self.tails.insert(invocation.clone(), first.seq);
        }
    }
}

/// The module from which a function is called.
pub(super) struct CallerModule {
    name: String,
    /// Digest of the module.
    module: Option<Digest>,
}

impl CallerModule {
    pub(super) fn of(view: &View, id: &PromiseId) -> Option<Self> {
        let module = view.task(id).and_then(|task| task.module);
        Some(Self { name: view.promise(id)?.module_name(), module })
    }

    /// The caller for an invocation that does not exist yet.
    pub(super) fn begun(new: &NewPromise, module: Digest) -> Self {
        Self { name: module_named(&new.tags).unwrap_or_default(), module: Some(module) }
    }
}

/// True if the promise is a step of a saga of this invocation, or the compensation of one.
pub(super) fn is_step(invocation: &PromiseId, id: &PromiseId, tags: &Tags) -> bool {
    StepTags::of(tags).is_some() || id.compensates(invocation).is_some()
}
