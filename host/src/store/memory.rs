//! The model: the core's state behind a mutex, whole journals included. Nothing survives the process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use segno_core::{
    address,
    command::Command,
    config::Config,
    id::{Claim, Digest, PromiseId, ScheduleId},
    invocation::{LogLine, Record},
    promise::{MessageKind, Promise, Schedule, Task, TaskState, TaskStatus},
    reply::Reply,
    snapshot::Snapshot,
    state::State,
    tags,
    time::Timestamp,
    transition::transition,
};

use super::{
    Census, Child, Commit, Due, EventPlace, EventRow, Examined, Found, Hints, InvocationFilter,
    InvocationRow, Kin, Lineage, LogRow, ModuleRow, Page, Parent, PartSize, PromiseFilter,
    PromiseRow, Ready, ScheduleFilter, SchedulePage, SizeReport, Store, StoreError, Survey,
    TreeSize, Waits, Wake,
    house::{HouseError, Van},
    lineage, listing,
    size::Forest,
};
use crate::runtime::{Clock, Surroundings};

/// A store that keeps everything in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    config: Config,
    hints: Arc<dyn Hints>,
    kept: Mutex<Kept>,
}

struct Kept {
    state: State,
    /// Promises in the order of their creation.
    numbers: BTreeMap<i64, PromiseId>,
    /// The last number that was given: none is given twice.
    last_number: i64,
    by_id: BTreeMap<PromiseId, i64>,
    logs: BTreeMap<PromiseId, Vec<LogLine>>,
    modules: BTreeMap<Digest, Module>,
}

struct Module {
    component: Arc<[u8]>,
    description: String,
    created_at: Timestamp,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(config: Config, surroundings: Surroundings, hints: Arc<dyn Hints>) -> Arc<Self> {
        let kept = Kept {
            state: State::whole(),
            numbers: BTreeMap::new(),
            last_number: 0,
            by_id: BTreeMap::new(),
            logs: BTreeMap::new(),
            modules: BTreeMap::new(),
        };
        Arc::new(Self { clock: surroundings.clock, config, hints, kept: Mutex::new(kept) })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        let mut effects = Vec::new();
        let mut replies = Vec::with_capacity(commands.len());
        {
            let mut kept = self.kept();
            let now = self.clock.now();
            for command in &commands {
                let decision = transition(&kept.state, command, now, &self.config);
                for id in &decision.delta.removed {
                    kept.by_id.remove(id).iter().for_each(|number| {
                        kept.numbers.remove(number);
                    });
                    kept.logs.remove(id);
                }
                for id in listing::unnumbered(&decision.delta, |id| kept.by_id.contains_key(id)) {
                    let number = kept.next_number();
                    kept.numbers.insert(number, id.clone());
                    kept.by_id.insert(id, number);
                }
                for (invocation, line) in &decision.delta.logs {
                    kept.logs.entry(invocation.clone()).or_default().push(line.clone());
                }
                kept.state.apply(&decision.delta);
                effects.extend(decision.effects);
                replies.push(decision.reply);
            }
            listing::drop_stale(&mut effects, &kept.state);
            // While the state is locked, so that hints come in the order of the commits.
            self.hints.committed(&effects);
            let commit = Commit { commands: commands.len(), took: Duration::ZERO, waiting: 0 };
            self.hints.measured(&commit);
        }
        Ok(replies)
    }

    async fn promise(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        Ok(self.promises(std::slice::from_ref(id)).await?.pop().flatten())
    }

    async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        let kept = self.kept();
        let row = |id: &PromiseId| {
            let promise = kept.state.promise(id)?.clone();
            Some(PromiseRow { promise, task: kept.state.task(id).cloned() })
        };
        Ok(ids.iter().map(row).collect())
    }

    async fn journal(
        &self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let kept = self.kept();
        let records = kept.state.tail(id).iter().skip(from as usize).take(limit as usize);
        Ok(records.cloned().collect())
    }

    async fn logs(&self, id: &PromiseId, from: u32, limit: u32) -> Result<Vec<LogRow>, StoreError> {
        let kept = self.kept();
        let lines = kept.logs.get(id).map_or(&[][..], Vec::as_slice);
        let page = (0..).zip(lines).skip(from as usize).take(limit as usize);
        Ok(page.map(|(line, logged)| LogRow::numbered(line, logged)).collect())
    }

    async fn log_count(&self, id: &PromiseId) -> Result<u32, StoreError> {
        let count = self.kept().logs.get(id).map_or(0, Vec::len);
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    async fn waits(&self, id: &PromiseId) -> Result<Waits, StoreError> {
        let kept = self.kept();
        let unconsumed = |awaited: &&PromiseId| kept.state.callback(awaited, id) == Some(false);
        let awaiting = kept.state.callbacks_on(id).filter(|(_, consumed)| !consumed);
        Ok(Waits {
            awaits: kept.state.awaited_by(id).filter(unconsumed).cloned().collect(),
            awaited_by: awaiting.map(|(awaiter, _)| awaiter.clone()).collect(),
        })
    }

    async fn list(&self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        let kept = self.kept();
        let limit = listing::page_limit(filter.limit) as usize;
        let mut items = Vec::new();
        let mut last = None;
        let mut more = false;
        let older = ..filter.after.unwrap_or(i64::MAX);
        for (number, id) in kept.numbers.range(older).rev() {
            let Some((promise, task)) = kept.state.promise(id).zip(kept.state.task(id)) else {
                continue;
            };
            if !listing::takes(filter, promise, task)? {
                continue;
            }
            if items.len() == limit {
                more = true;
                break;
            }
            items.push(InvocationRow {
                promise: promise.clone(),
                task: task.clone(),
                journal_len: kept.state.head(id).len,
            });
            last = Some(*number);
        }
        Ok(Page { items, next: last.filter(|_| more) })
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        Ok(self.kept().state.schedule(id).cloned())
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        let kept = self.kept();
        let listed = kept.state.schedules().filter(|schedule| {
            filter.after.as_ref().is_none_or(|after| schedule.id > *after) && filter.takes(schedule)
        });
        Ok(SchedulePage::of(listed.cloned(), listing::page_limit(filter.limit) as usize))
    }

    async fn find(&self, filter: &PromiseFilter) -> Result<Vec<PromiseRow>, StoreError> {
        let kept = self.kept();
        let after = |promise: &&Promise| filter.after.as_ref().is_none_or(|id| promise.id() > id);
        let rows = kept.state.promises().filter(after).filter_map(|promise| {
            let task = kept.state.task(promise.id());
            listing::finds(filter, promise, task)
                .then(|| PromiseRow { promise: promise.clone(), task: task.cloned() })
        });
        Ok(rows.take(listing::find_limit(filter) as usize).collect())
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        let kept = self.kept();
        let deadlines =
            kept.state.promises().filter(|promise| promise.is_pending()).map(|promise| {
                let id = promise.id().clone();
                (promise.birth.timeout_at, kept.number(&id), Command::PromiseDue { id })
            });
        let timers = kept
            .state
            .tasks()
            .filter_map(|task| Some((task.due_at()?, kept.number(&task.id), timer_command(task)?)));
        let mut deadlines = first_due(deadlines.collect(), now, limit);
        deadlines.wakes = deadlines.commands.iter().filter_map(|due| kept.wake(due)).collect();
        let schedules = kept.state.schedules().filter_map(|schedule| {
            let id = schedule.id.clone();
            Some((schedule.due_at()?, id.clone(), Command::ScheduleDue { id }))
        });
        let left = limit.saturating_sub(deadlines.commands.len() as u32);
        let due = deadlines.and(first_due(timers.collect(), now, left));
        let left = limit.saturating_sub(due.commands.len() as u32);
        Ok(due.and(first_due(schedules.collect(), now, left)))
    }

    async fn ready(
        &self,
        now: Timestamp,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Ready>, StoreError> {
        let kept = self.kept();
        let younger = after.map_or(i64::MIN, |after| after + 1)..;
        let offered = kept.numbers.range(younger).filter_map(|(number, id)| {
            let (promise, task) = (kept.state.promise(id)?, kept.state.task(id)?);
            let TaskState::Pending { offered: true, .. } = task.state else { return None };
            let target = promise.target().filter(|target| address::is_hosted(target))?;
            if promise.birth.timeout_at <= now {
                return None;
            }
            Some(Ready {
                cursor: *number,
                id: id.clone(),
                version: task.version,
                target: target.to_owned(),
            })
        });
        Ok(offered.take(limit as usize).collect())
    }

    async fn outbox_due(
        &self,
        kind: MessageKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Due, StoreError> {
        let kept = self.kept();
        let owed = kept.state.outbox().filter(|(key, _)| key.kind() == kind).map(|(key, row)| {
            let order = (kept.number(key.promise()), listing::outbox_order(key));
            (row.next_at, order, Command::OutboxDue { key: key.clone() })
        });
        Ok(first_due(owed.collect(), now, limit))
    }

    async fn events(
        &self,
        after: Option<EventPlace>,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let kept = self.kept();
        let rows = kept.state.outbox();
        let mut events: Vec<EventRow> = rows
            .filter_map(|(key, row)| EventRow::of(key, row, kept.number(key.promise())))
            .collect();
        events.retain(|event| after.is_none_or(|after| event.place > after));
        events.sort_by_key(|event| event.place);
        events.truncate(limit as usize);
        Ok(events)
    }

    async fn census(&self) -> Result<Census, StoreError> {
        let kept = self.kept();
        let mut census = Census::default();
        for task in kept.state.tasks() {
            match &task.state {
                TaskState::Acquired { .. } => census.acquired += 1,
                TaskState::Halted { .. } => census.halted += 1,
                TaskState::Pending { offered: true, .. } => {
                    let promise = kept.state.promise(&task.id);
                    let target = promise.and_then(Promise::target);
                    census.ready += u64::from(target.is_some_and(address::is_hosted));
                }
                TaskState::Pending { offered: false, .. }
                | TaskState::Suspended
                | TaskState::Fulfilled => {}
            }
        }
        for (key, _) in kept.state.outbox() {
            *census.outbox.entry(key.kind()).or_default() += 1;
        }
        Ok(census)
    }

    async fn put_component(
        &self,
        digest: Digest,
        component: Arc<[u8]>,
        description: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.state.put_module(digest);
        kept.modules.entry(digest).or_insert(Module { component, description, created_at: now });
        Ok(())
    }

    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.kept().modules.get(&digest).map(|module| module.component.clone()))
    }

    async fn modules(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let kept = self.kept();
        let rows = kept.modules.iter().map(|(digest, module)| {
            let aliases = kept.state.aliases().filter(|(_, named)| *named == digest);
            ModuleRow {
                digest: *digest,
                size: module.component.len() as u64,
                created_at: module.created_at,
                description: module.description.clone(),
                aliases: aliases.map(|(alias, _)| alias.to_string()).collect(),
            }
        });
        Ok(rows.collect())
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let kept = self.kept();
        let unfinished = kept.state.tasks().filter(|task| task.status() != TaskStatus::Fulfilled);
        let mut in_use = BTreeMap::new();
        for module in unfinished.filter_map(|task| task.module) {
            *in_use.entry(module).or_default() += 1;
        }
        Ok(in_use)
    }

    fn survey(&self) -> Option<&dyn Survey> {
        Some(self)
    }

    fn lineage(&self) -> Option<&dyn Lineage> {
        Some(self)
    }

    async fn remove_component(
        &self,
        digest: Digest,
        before: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut kept = self.kept();
        let old = kept.modules.get(&digest).is_some_and(|module| module.created_at <= before);
        let used = kept.state.aliases().any(|(_, named)| *named == digest)
            || kept.state.tasks().any(|task| task.module == Some(digest));
        if !old || used {
            return Ok(false);
        }
        kept.modules.remove(&digest);
        kept.state.remove_module(&digest);
        Ok(true)
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::of(&self.kept().state))
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let mut state = State::whole();
        kept.modules.keys().for_each(|digest| state.put_module(*digest));
        let aliases = kept.state.aliases().map(|(name, module)| (name.clone(), *module));
        aliases.for_each(|(name, module)| state.put_alias(name, module));
        let hosts = kept.state.hosts().map(|(node, incarnation)| (node.clone(), incarnation));
        hosts.for_each(|(node, incarnation)| state.put_host(node, incarnation));
        kept.state = state;
        kept.numbers.clear();
        kept.by_id.clear();
        kept.logs.clear();
        Ok(())
    }

    async fn close(&self) {}
}

#[async_trait]
impl Survey for MemoryStore {
    async fn suspects(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        let kept = self.kept();
        let (ids, next) = kept.page(after, limit);
        let looked_at = ids.len() as u32;
        Ok(Found { items: ids, looked_at, next })
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        let kept = self.kept();
        let (ids, next) = kept.page(after, limit);
        let looked_at = ids.len() as u32;
        let promises = ids.iter().filter_map(|id| kept.state.promise(id)).filter(|promise| {
            promise.birth.made_by.is_none()
                && promise.settlement().is_some_and(|settled| settled.settled_at <= before)
        });
        Ok(Found { items: promises.cloned().collect(), looked_at, next })
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        let kept = self.kept();
        let (ids, next) = match maker {
            None => kept.page(after, limit),
            Some(maker) => {
                let made = kept.state.made_by(maker).map(|id| kept.number(id));
                let mut made: Vec<i64> = made.filter(|number| *number > after).collect();
                made.sort_unstable();
                let next = made.get(limit as usize - 1).copied();
                made.truncate(limit as usize);
                (made.iter().filter_map(|number| kept.numbers.get(number).cloned()).collect(), next)
            }
        };
        Ok(Examined { state: kept.state.clone(), ids, next, unreadable: Vec::new() })
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn move_out(&self, _van: &mut dyn Van) -> Result<(), HouseError> {
        Err(HouseError::Place("a store in memory has no tables to move".to_owned()))
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let kept = self.kept();
        let mut forest = Forest::default();
        for (number, id) in &kept.numbers {
            let Some(promise) = kept.state.promise(id) else { continue };
            let value = promise.settlement().and_then(|settled| settled.value.as_ref());
            let bytes = promise.birth.param.data.len() + value.map_or(0, |value| value.data.len());
            let maker = promise.birth.made_by.as_ref().map(|maker| kept.number(maker));
            forest.add(*number, maker, !promise.is_pending(), bytes as u64);
        }
        let name =
            |number: &i64| kept.numbers.get(number).map_or_else(String::new, ToString::to_string);
        let trees = forest.largest(top).into_iter();
        let trees: Vec<_> =
            trees.map(|(root, tree)| TreeSize { id: name(&root), ..tree }).collect();
        let bytes = trees.iter().map(|tree| tree.bytes).sum();
        let parts =
            vec![PartSize { name: "promises".to_owned(), rows: kept.numbers.len() as u64, bytes }];
        Ok(SizeReport { bytes, parts, trees, ..SizeReport::default() })
    }
}

#[async_trait]
impl Lineage for MemoryStore {
    async fn children(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError> {
        let kept = self.kept();
        let named = kept.named();
        let mut children = Vec::new();
        for (place, parent) in parents.iter().enumerate() {
            for promise in kept.children(&parent.id, &named) {
                let (id, number) = (promise.id(), kept.number(promise.id()));
                let row =
                    PromiseRow { promise: promise.clone(), task: kept.state.task(id).cloned() };
                children.extend((number > parent.after).then_some(Child {
                    parent: place,
                    number,
                    row,
                }));
            }
        }
        Ok(lineage::in_order(children, each))
    }

    async fn kin(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<Kin>>, StoreError> {
        let kept = self.kept();
        let named = kept.named();
        let kin = |id: &PromiseId| {
            let number = *kept.by_id.get(id)?;
            let waits = |other: &&PromiseId| kept.state.callback(other, id) == Some(false);
            let mut awaited: Vec<_> = kept.state.awaited_by(id).filter(waits).cloned().collect();
            awaited.sort_by_key(|other| kept.number(other));
            awaited.truncate(awaits as usize);
            let children = kept.children(id, &named).take(count as usize).count() as u32;
            Some(Kin { number, children, awaits: awaited })
        };
        Ok(ids.iter().map(kin).collect())
    }
}

impl Kept {
    /// The promises that nobody made under a claim, by whom they name as their parent if that is another.
    fn named(&self) -> BTreeMap<&str, Vec<&Promise>> {
        let mut named: BTreeMap<&str, Vec<&Promise>> = BTreeMap::new();
        for promise in self.state.promises().filter(|promise| promise.birth.made_by.is_none()) {
            let parent = promise.birth.tags.get(tags::PARENT).map(String::as_str);
            if let Some(parent) = parent.filter(|parent| *parent != promise.id().as_str()) {
                named.entry(parent).or_default().push(promise);
            }
        }
        named
    }

    fn children<'a>(
        &'a self,
        parent: &'a PromiseId,
        named: &'a BTreeMap<&str, Vec<&'a Promise>>,
    ) -> impl Iterator<Item = &'a Promise> {
        let made = self.state.made_by(parent).filter_map(|id| self.state.promise(id));
        made.chain(named.get(parent.as_str()).into_iter().flatten().copied())
    }

    /// The `limit` promises after `after`, and where the next page begins.
    fn page(&self, after: i64, limit: u32) -> (Vec<PromiseId>, Option<i64>) {
        let page: Vec<_> = self.numbers.range(after + 1..).take(limit as usize).collect();
        let next = page.last().map(|(number, _)| **number).filter(|_| page.len() == limit as usize);
        (page.into_iter().map(|(_, id)| id.clone()).collect(), next)
    }

    fn next_number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    fn number(&self, id: &PromiseId) -> i64 {
        self.by_id.get(id).copied().unwrap_or_default()
    }

    /// The task that this deadline wakes: of those who wait for it, the one that was made first.
    fn wake(&self, due: &Command) -> Option<Wake> {
        let Command::PromiseDue { id } = due else { return None };
        let waiting = self.state.callbacks_on(id).filter(|(_, consumed)| !consumed);
        let (first, _) = waiting.min_by_key(|(awaiter, _)| self.number(awaiter))?;
        let hosted = self.state.promise(first)?.target().is_some_and(address::is_hosted);
        let task =
            self.state.task(first).filter(|task| hosted && task.state == TaskState::Suspended)?;
        Some(Wake { awaited: id.clone(), task: Claim { id: first.clone(), version: task.version } })
    }
}

/// What a task's timer fires, if it has one.
fn timer_command(task: &Task) -> Option<Command> {
    let id = task.id.clone();
    match task.state {
        TaskState::Pending { .. } => Some(Command::RetryDue { id }),
        TaskState::Acquired { .. } => Some(Command::LeaseDue { id }),
        TaskState::Suspended | TaskState::Halted { .. } | TaskState::Fulfilled => None,
    }
}

/// The first of these that are due, by instant and order.
fn first_due<O: Ord>(mut timers: Vec<(Timestamp, O, Command)>, now: Timestamp, limit: u32) -> Due {
    timers.retain(|(at, ..)| *at < Timestamp::NEVER);
    timers.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    let mut due = Due::default();
    for (at, _, command) in timers {
        if at > now || due.commands.len() == limit as usize {
            due.next = Some(at);
            break;
        }
        due.commands.push(command);
    }
    due
}
