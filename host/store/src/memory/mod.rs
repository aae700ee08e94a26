//! The model: the core's state behind a mutex, whole journals included. Nothing survives the process.

mod call_tree;
mod due;
mod kept;
mod scan;

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
    delta::Delta,
    effect::Effect,
    id::{Digest, PromiseId, ScheduleId},
    invocation::Record,
    promise::{MessageKind, Promise, Schedule, TaskState, TaskStatus},
    reply::Reply,
    snapshot::Snapshot,
    state::State,
    time::Timestamp,
    transition::transition,
};

use self::kept::{Kept, Module};
use super::{
    CallTree, Commit, Counts, Due, EventPlace, EventRow, Hints, History, InvocationFilter,
    InvocationRow, LogRow, ModuleRow, Page, PromiseFilter, PromiseRow, Ready, Scan, ScheduleFilter,
    SchedulePage, Store, StoreError, Waits, hints, invocation_filter, limits, promise_filter,
};
use segno_env::{Clock, Surroundings};

/// A store that keeps everything in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    config: Config,
    hints: Arc<dyn Hints>,
    kept: Mutex<Kept>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(config: Config, surroundings: Surroundings, hints: Arc<dyn Hints>) -> Arc<Self> {
        let kept = Mutex::new(Kept::new());
        Arc::new(Self { clock: surroundings.clock, config, hints, kept })
    }

    /// All rows, as a decision that is made elsewhere reads them.
    pub fn rows(&self) -> State {
        self.kept().state.clone()
    }

    /// Writes what was decided elsewhere, and hints at it.
    pub fn write(&self, delta: &Delta, mut effects: Vec<Effect>) {
        let mut kept = self.kept();
        kept.apply(delta);
        hints::drop_stale(&mut effects, &kept.state);
        self.hints.committed(&effects);
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
                kept.apply(&decision.delta);
                effects.extend(decision.effects);
                replies.push(decision.reply);
            }
            hints::drop_stale(&mut effects, &kept.state);
            // While the state is locked, so that hints come in the order of the commits.
            self.hints.committed(&effects);
            let commit = Commit { commands: commands.len(), took: Duration::ZERO, waiting: 0 };
            self.hints.measured(&commit);
        }
        Ok(replies)
    }

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
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

    async fn histories(&self, of: &[(PromiseId, u32)]) -> Result<Vec<History>, StoreError> {
        let mut histories = Vec::with_capacity(of.len());
        for (id, len) in of {
            let records = self.journal(id, 0, *len).await?;
            histories.push(History { records, lines: self.log_count(id).await? });
        }
        Ok(histories)
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
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
        let limit = limits::page_limit(filter.limit) as usize;
        let mut items = Vec::new();
        let mut last = None;
        let mut more = false;
        let older = ..filter.after.unwrap_or(i64::MAX);
        for (number, id) in kept.numbers.range(older).rev() {
            let Some((promise, task)) = kept.state.promise(id).zip(kept.state.task(id)) else {
                continue;
            };
            if !invocation_filter::takes(filter, promise, task)? {
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
        Ok(Page { items, unreadable: Vec::new(), next: last.filter(|_| more) })
    }

    async fn schedule(&self, id: &ScheduleId) -> Result<Option<Schedule>, StoreError> {
        Ok(self.kept().state.schedule(id).cloned())
    }

    async fn schedules(&self, filter: &ScheduleFilter) -> Result<SchedulePage, StoreError> {
        let kept = self.kept();
        let listed = kept.state.schedules().filter(|schedule| {
            filter.after.as_ref().is_none_or(|after| schedule.id > *after) && filter.takes(schedule)
        });
        Ok(SchedulePage::of(listed.cloned(), limits::page_limit(filter.limit) as usize))
    }

    async fn find(
        &self,
        filter: &PromiseFilter,
    ) -> Result<Page<PromiseRow, PromiseId>, StoreError> {
        let kept = self.kept();
        let after = |promise: &&Promise| filter.after.as_ref().is_none_or(|id| promise.id() > id);
        let rows = kept.state.promises().filter(after).filter_map(|promise| {
            let task = kept.state.task(promise.id());
            promise_filter::finds(filter, promise, task)
                .then(|| PromiseRow { promise: promise.clone(), task: task.cloned() })
        });
        let limit = limits::page_limit(filter.limit) as usize;
        Ok(Page::of(rows.take(limit.saturating_add(1)).collect(), limit, None))
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Due, StoreError> {
        Ok(self.kept().due(now, limit))
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
        Ok(self.kept().outbox_due(kind, now, limit))
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

    async fn counts(&self) -> Result<Counts, StoreError> {
        let kept = self.kept();
        let mut counts = Counts::default();
        for task in kept.state.tasks() {
            match &task.state {
                TaskState::Acquired { .. } => counts.acquired += 1,
                TaskState::Halted { .. } => counts.halted += 1,
                TaskState::Pending { offered: true, .. } => {
                    let promise = kept.state.promise(&task.id);
                    let target = promise.and_then(Promise::target);
                    counts.ready += u64::from(target.is_some_and(address::is_hosted));
                }
                TaskState::Pending { offered: false, .. }
                | TaskState::Suspended
                | TaskState::Fulfilled => {}
            }
        }
        for (key, _) in kept.state.outbox() {
            *counts.outbox.entry(key.kind()).or_default() += 1;
        }
        Ok(counts)
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

    fn scan(&self) -> &dyn Scan {
        self
    }

    fn call_tree(&self) -> &dyn CallTree {
        self
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

    async fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn dump(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::of(&self.kept().state))
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.kept().wipe();
        Ok(())
    }

    async fn close(&self) {}
}
