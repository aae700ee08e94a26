//! The writer's cache: the rows it keeps in memory, and an index of these rows.
//!
//! The cache equals the committed state, except while a batch is being decided. A failed batch
//! clears it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use segno_core::{
    delta::Delta,
    footprint::{ChildPage, Footprint, SweepPage},
    id::{Digest, HostName, ObjectId, PromiseId, ResourceName, ScheduleId, StreamId},
    limit::{LimitName, PartitionId},
    promise::{OutboxKey, Promise},
    unreadable::Subject,
    value::{Tags, Text, Value},
    view::View,
};

use super::{SqlFailure, StoredPromise, large_value::ChunkSet, unreadable};
use crate::order;

/// Measured overhead of a promise with its task, in bytes, beyond its content.
const AROUND: usize = 1_792;

/// Cached rows for decisions.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    pub(crate) view: View,
    /// True if all modules, aliases, hosts and limits are always cached; otherwise they are looked
    /// up for each batch.
    pub(crate) holds_globals: bool,
    /// The numbers of modules, if all are cached.
    pub(crate) modules: HashMap<Digest, i64>,
    /// Number of the next promise.
    pub(crate) next_number: i64,
    /// Maximum number of cached promises, above which the least recently used are evicted.
    pub(crate) limit: usize,
    /// Maximum bytes of cached promises, above which the least recently used are evicted.
    pub(crate) byte_limit: usize,
    /// Maximum bytes of cached promises that are settled. Decisions rarely read them again, so
    /// they are evicted long before pending ones.
    pub(crate) settled_byte_limit: usize,
    known: HashMap<PromiseId, CachedPromise>,
    /// Total bytes of cached promises.
    bytes: usize,
    settled: SettledPromises,
    tick: u64,
    this_batch: BatchLookups,
    /// Promises that were loaded without their large values.
    incomplete: Vec<StoredPromise>,
}

/// The extent to which a promise is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CacheLevel {
    /// Only its number.
    Number,
    /// Its row and its task's row.
    Rows,
    /// Its whole composite.
    Composite,
}

#[derive(Debug)]
struct CachedPromise {
    /// `None` if the promise is known not to exist.
    number: Option<i64>,
    level: CacheLevel,
    used: u64,
    bytes: usize,
    is_settled: bool,
}

/// The cached promises that are settled, in the order in which they are evicted.
#[derive(Debug, Default)]
struct SettledPromises {
    bytes: usize,
    /// Each with the tick of its last use when it was queued. A promise that was used since, or is
    /// not cached any more, stays queued until its turn.
    queue: VecDeque<(PromiseId, u64)>,
}

/// Lookups that are valid for this batch only.
#[derive(Debug, Default)]
struct BatchLookups {
    tails: HashMap<PromiseId, u32>,
    children: BTreeMap<PromiseId, ChildPage>,
    outbox: BTreeSet<OutboxKey>,
    held_by: BTreeSet<HostName>,
    signal_keys: BTreeSet<(PromiseId, Text)>,
    schedules: BTreeSet<ScheduleId>,
    aliases: BTreeSet<Text>,
    modules: BTreeSet<Digest>,
    hosts: BTreeSet<HostName>,
    resources: BTreeSet<ResourceName>,
    facts: BTreeSet<PromiseId>,
    lines: BTreeSet<ObjectId>,
    promises_of: BTreeSet<ObjectId>,
    limits: BTreeSet<LimitName>,
    partitions: BTreeSet<PartitionId>,
    places: BTreeSet<PromiseId>,
    tree_counts: BTreeSet<PromiseId>,
    budgets: BTreeSet<PromiseId>,
    streams: BTreeSet<StreamId>,
    stream_data: BTreeSet<StreamId>,
    rounds: BTreeMap<LimitName, u32>,
    sweeps: BTreeMap<LimitName, SweepPage>,
    lanes: BTreeMap<(PartitionId, u8), u32>,
}

impl BatchLookups {
    /// Drops lookups by queue order that the delta makes stale.
    fn changed(&mut self, delta: &Delta) {
        for partition in delta.partitions.keys() {
            let name = partition.limit();
            self.rounds.remove(&name);
            self.sweeps.remove(&name);
        }
        // The stored data of a cleared stream is not deleted before the batch is written.
        self.stream_data.extend(delta.cleared_streams.iter().cloned());
        if !delta.places.is_empty() {
            let of = |id: &PartitionId| delta.places.values().any(|place| place.partition == *id);
            self.lanes.retain(|(partition, _), _| !of(partition));
        }
    }
}

impl Cache {
    /// True if all wanted rows are certainly cached: a quick check before [`Cache::missing`]
    /// computes the missing ones.
    pub(crate) fn has(&mut self, wanted: &Footprint) -> bool {
        let Footprint {
            composites,
            rows,
            tails,
            children,
            trees,
            tree_counts,
            budgets,
            outbox,
            aliases,
            modules,
            hosts,
            held_by,
            signal_keys,
            schedules,
            resources,
            facts,
            lines,
            promises_of,
            limits,
            partitions,
            places,
            rounds,
            sweeps,
            lanes,
            streams,
            stream_data,
        } = wanted;
        let no_globals =
            aliases.is_empty() && modules.is_empty() && hosts.is_empty() && limits.is_empty();
        let globals = self.holds_globals || no_globals;
        let of_batches = tails.is_empty()
            && children.is_empty()
            && trees.is_empty()
            && tree_counts.is_empty()
            && budgets.is_empty()
            && outbox.is_empty()
            && held_by.is_empty()
            && signal_keys.is_empty()
            && schedules.is_empty()
            && resources.is_empty()
            && facts.is_empty()
            && lines.is_empty()
            && promises_of.is_empty()
            && partitions.is_empty()
            && places.is_empty()
            && rounds.is_empty()
            && sweeps.is_empty()
            && lanes.is_empty()
            && streams.is_empty()
            && stream_data.is_empty();
        globals
            && of_batches
            && composites.iter().all(|id| self.holds(id, CacheLevel::Composite))
            && rows.iter().all(|id| self.holds(id, CacheLevel::Rows))
    }

    /// The part of a footprint that is not cached. Trees always are missing: they may have grown
    /// since.
    pub(crate) fn missing(&mut self, mut wanted: Footprint) -> Footprint {
        self.tick += 1;
        wanted.composites.retain(|id| !self.holds(id, CacheLevel::Composite));
        let composites = &wanted.composites;
        let mut rows = std::mem::take(&mut wanted.rows);
        rows.retain(|id| !composites.contains(id) && !self.holds(id, CacheLevel::Rows));
        wanted.rows = rows;
        let batch = &self.this_batch;
        wanted.tails.retain(|id, from| batch.tails.get(id).is_none_or(|known| known > from));
        wanted.children.retain(|id, page| batch.children.get(id) != Some(page));
        wanted.outbox.retain(|key| !batch.outbox.contains(key));
        wanted.held_by.retain(|node| !batch.held_by.contains(node));
        wanted.signal_keys.retain(|key| !batch.signal_keys.contains(key));
        wanted.schedules.retain(|id| !batch.schedules.contains(id));
        let held = self.holds_globals;
        wanted.aliases.retain(|alias| !held && !batch.aliases.contains(alias));
        wanted.modules.retain(|module| !held && !batch.modules.contains(module));
        wanted.hosts.retain(|node| !held && !batch.hosts.contains(node));
        wanted.resources.retain(|name| !batch.resources.contains(name));
        wanted.facts.retain(|id| !batch.facts.contains(id));
        wanted.lines.retain(|object| !batch.lines.contains(object));
        wanted.promises_of.retain(|object| !batch.promises_of.contains(object));
        wanted.limits.retain(|name| !held && !batch.limits.contains(name));
        wanted.partitions.retain(|id| !batch.partitions.contains(id));
        wanted.places.retain(|id| !batch.places.contains(id));
        wanted.streams.retain(|id| !batch.streams.contains(id));
        wanted.stream_data.retain(|id| !batch.stream_data.contains(id));
        wanted.tree_counts.retain(|root| !batch.tree_counts.contains(root));
        wanted.budgets.retain(|account| !batch.budgets.contains(account));
        wanted.rounds.retain(|name, most| batch.rounds.get(name).is_none_or(|had| had < most));
        wanted.sweeps.retain(|name, page| batch.sweeps.get(name) != Some(page));
        wanted.lanes.retain(|lane, most| batch.lanes.get(lane).is_none_or(|had| had < most));
        wanted
    }

    /// Caches a promise. One with large values is cached without them until
    /// [`Cache::complete`].
    pub(crate) fn put_stored(&mut self, stored: StoredPromise) {
        self.weigh(&stored.promise);
        self.view.put_promise(stored.promise.clone());
        if !stored.is_inline() {
            self.incomplete.push(stored);
        }
    }

    /// The digests of the chunks that [`Cache::complete`] takes.
    pub(crate) fn missing_chunks(&self) -> Vec<Digest> {
        ChunkSet::wanted(self.incomplete.iter().flat_map(StoredPromise::lists))
    }

    /// Adds the large values of the promises that were loaded.
    pub(crate) fn complete(&mut self, chunks: &ChunkSet) -> Result<(), SqlFailure> {
        for stored in std::mem::take(&mut self.incomplete) {
            let id = stored.promise.id().clone();
            match stored.whole(chunks) {
                Ok(promise) => {
                    self.weigh(&promise);
                    self.view.put_promise(promise);
                }
                Err(error) => {
                    let why = Text::from(&*unreadable(error)?);
                    self.view.put_unreadable(Subject::Promise(id), why);
                }
            }
        }
        Ok(())
    }

    /// Records that these rows were looked up.
    pub(crate) fn loaded(&mut self, wanted: Footprint) {
        for id in wanted.composites {
            self.know(&id, None, CacheLevel::Composite);
        }
        for id in wanted.rows {
            self.know(&id, None, CacheLevel::Rows);
        }
        let batch = &mut self.this_batch;
        batch.tails.extend(wanted.tails);
        batch.children.extend(wanted.children);
        batch.outbox.extend(wanted.outbox);
        batch.held_by.extend(wanted.held_by);
        batch.signal_keys.extend(wanted.signal_keys);
        batch.schedules.extend(wanted.schedules);
        batch.aliases.extend(wanted.aliases);
        batch.modules.extend(wanted.modules);
        batch.hosts.extend(wanted.hosts);
        batch.resources.extend(wanted.resources);
        batch.facts.extend(wanted.facts);
        batch.lines.extend(wanted.lines);
        batch.promises_of.extend(wanted.promises_of);
        batch.limits.extend(wanted.limits);
        batch.partitions.extend(wanted.partitions);
        batch.places.extend(wanted.places);
        batch.tree_counts.extend(wanted.tree_counts);
        batch.budgets.extend(wanted.budgets);
        batch.streams.extend(wanted.streams);
        batch.stream_data.extend(wanted.stream_data);
        batch.rounds.extend(wanted.rounds);
        batch.sweeps.extend(wanted.sweeps);
        batch.lanes.extend(wanted.lanes);
    }

    /// Records a promise: its number, if it has one, and how much of it is now cached.
    pub(crate) fn know(&mut self, id: &PromiseId, number: Option<i64>, level: CacheLevel) {
        let used = self.tick;
        let new = CachedPromise { number, level, used, bytes: 0, is_settled: false };
        let known = self.known.entry(id.clone()).or_insert(new);
        known.number = known.number.or(number);
        known.level = known.level.max(level);
        known.used = used;
    }

    /// Updates the memory use of a known promise.
    pub(crate) fn weigh(&mut self, promise: &Promise) {
        if let Some(known) = self.known.get_mut(promise.id()) {
            let before = std::mem::replace(&mut known.bytes, weight(promise));
            self.bytes = self.bytes + known.bytes - before;
            if known.is_settled {
                self.settled.bytes = self.settled.bytes + known.bytes - before;
            } else if !promise.is_pending() {
                known.is_settled = true;
                self.settled.bytes += known.bytes;
                self.settled.queue.push_back((promise.id().clone(), known.used));
            }
        }
    }

    /// True if the promise's whole composite is cached.
    pub(crate) fn is_whole(&self, id: &PromiseId) -> bool {
        self.known.get(id).is_some_and(|known| known.level == CacheLevel::Composite)
    }

    /// Like [`Cache::is_whole`], and marks the promise as used.
    pub(crate) fn holds_whole(&mut self, id: &PromiseId) -> bool {
        self.holds(id, CacheLevel::Composite)
    }

    /// The number of a known promise. `None` if it is unknown or does not exist.
    pub(crate) fn number(&self, id: &PromiseId) -> Option<i64> {
        self.known.get(id)?.number
    }

    /// Sets the final number of a new promise, if it was not known at the decision.
    pub(crate) fn renumber(&mut self, id: &PromiseId, number: i64) {
        if let Some(known) = self.known.get_mut(id) {
            known.number = Some(number);
        }
    }

    /// Applies a decision. Returns the new promises.
    pub(crate) fn apply(&mut self, delta: &Delta) -> Vec<PromiseId> {
        let fresh = order::unnumbered(delta, |id| self.number(id).is_some());
        for id in &fresh {
            let number = self.next_number;
            self.next_number += 1;
            self.know(id, Some(number), CacheLevel::Composite);
        }
        self.view.apply(delta);
        self.this_batch.changed(delta);
        delta.promises.values().for_each(|promise| self.weigh(promise));
        for id in &delta.removed {
            self.forget(id);
        }
        fresh
    }

    /// Ends a committed batch: drops its private lookups, and evicts the least recently used
    /// promises if a limit is exceeded.
    pub(crate) fn end_batch(&mut self) {
        let batch = std::mem::take(&mut self.this_batch);
        self.view.forget_lookups();
        for id in batch.tails.into_keys() {
            self.evict(&id);
        }
        self.evict_settled();
        if self.known.len() <= self.limit && self.bytes <= self.byte_limit {
            return;
        }
        let mut by_age: Vec<_> = self.known.iter().map(|(id, known)| (known.used, id)).collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        // Evict down to three quarters of the limits, so that eviction does not run for every
        // batch.
        let by_age: Vec<_> = by_age.into_iter().map(|(_, id)| id.clone()).collect();
        for id in by_age {
            if self.known.len() <= self.limit / 4 * 3 && self.bytes <= self.byte_limit / 4 * 3 {
                break;
            }
            self.evict(&id);
        }
    }

    /// Evicts settled promises beyond their limit, the first settled first. One that was used since
    /// it was queued is queued again.
    fn evict_settled(&mut self) {
        for _ in 0..self.settled.queue.len() {
            // The queue is longer only by promises that are not cached any more.
            let is_long = self.settled.queue.len() > self.known.len();
            if self.settled.bytes <= self.settled_byte_limit && !is_long {
                break;
            }
            let Some((id, queued)) = self.settled.queue.pop_front() else { break };
            match self.known.get(&id) {
                Some(known) if known.is_settled && known.used > queued => {
                    self.settled.queue.push_back((id, known.used));
                }
                Some(known) if known.is_settled => self.evict(&id),
                _ => {}
            }
        }
    }

    /// Approximate bytes of all cached promises.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops every promise and frees their memory.
    pub(crate) fn forget_all(&mut self) {
        self.view = self.view.globals();
        self.known = HashMap::new();
        self.this_batch = BatchLookups::default();
        self.bytes = 0;
        self.settled = SettledPromises::default();
        self.incomplete = Vec::new();
    }

    fn forget(&mut self, id: &PromiseId) {
        if let Some(known) = self.known.remove(id) {
            self.bytes -= known.bytes;
            self.settled.bytes -= if known.is_settled { known.bytes } else { 0 };
        }
    }

    fn evict(&mut self, id: &PromiseId) {
        let number = self.number(id);
        self.forget(id);
        self.view.evict(id);
        // Callbacks shared with a cached promise stay, and so does the number, which is needed to
        // write them.
        let number = number.filter(|_| self.shares_callbacks(id));
        if number.is_some() {
            self.know(id, number, CacheLevel::Number);
        }
    }

    fn shares_callbacks(&self, id: &PromiseId) -> bool {
        self.view.callbacks_on(id).next().is_some() || self.view.awaited_by(id).next().is_some()
    }

    fn holds(&mut self, id: &PromiseId, level: CacheLevel) -> bool {
        let Some(known) = self.known.get_mut(id) else { return false };
        known.used = self.tick;
        known.level >= level
    }
}

/// Approximate memory use of a promise in bytes: its content, and the overhead of rows and keys.
fn weight(promise: &Promise) -> usize {
    let tags =
        |tags: &Tags| tags.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let value = |value: &Value| value.data.len() + tags(&value.headers);
    let settled = promise.settlement().and_then(|settlement| settlement.value.as_ref());
    AROUND + value(&promise.spec.param) + tags(&promise.spec.tags) + settled.map_or(0, value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{
        promise::{FenceToken, PromiseSpec, PromiseState, Resource, Settlement, Verdict},
        saga::{Fact, FactKey, FactKind},
        time::Timestamp,
    };

    use super::*;

    fn promise(id: &str, bytes: usize) -> Promise {
        let spec = PromiseSpec {
            id: id.into(),
            param: Value { data: vec![0; bytes].into(), ..Value::default() },
            tags: Tags::new(),
            made_by: None,
            timeout_at: Timestamp::NEVER,
            created_at: Timestamp(0),
        };
        Promise { spec: spec.into(), state: PromiseState::Pending }
    }

    #[test]
    fn what_was_not_used_for_long_goes_when_the_rest_takes_too_many_bytes() {
        let mut cache = Cache { limit: 100, byte_limit: 10 * (AROUND + 1_000), ..Cache::default() };
        for batch in 0..20 {
            let made = promise(&format!("p{batch}"), 1_000);
            let footprint = Footprint { rows: ["p0".into()].into(), ..Footprint::default() };
            cache.missing(footprint);
            let delta = Delta { promises: [(made.id().clone(), made)].into(), ..Delta::default() };
            cache.apply(&delta);
            cache.end_batch();
            assert!(cache.bytes <= cache.byte_limit, "{} after {batch}", cache.bytes);
        }
        let held = |id: &str| cache.view.promise(&id.into()).is_some();
        assert!(held("p0"), "every batch asked for it");
        assert!(held("p19") && held("p18") && !held("p1") && !held("p5"));
        let weighed: usize = cache.known.values().map(|known| known.bytes).sum();
        assert_eq!(cache.bytes, weighed);
    }

    #[test]
    fn settled_promises_go_before_pending_ones_but_for_those_in_use() {
        let each = AROUND + 1_000;
        let mut cache = Cache {
            limit: 1_000,
            byte_limit: 100 * each,
            settled_byte_limit: 4 * each,
            ..Cache::default()
        };
        let settled = |id: &str| Promise {
            state: PromiseState::Settled(Arc::new(Settlement {
                verdict: Verdict::Resolved,
                value: None,
                settled_at: Timestamp(1),
            })),
            ..promise(id, 1_000)
        };
        for batch in 0..20 {
            cache.missing(Footprint { rows: ["s0".into()].into(), ..Footprint::default() });
            let made = [promise(&format!("p{batch}"), 1_000), settled(&format!("s{batch}"))];
            let promises = made.map(|made| (made.id().clone(), made)).into();
            cache.apply(&Delta { promises, ..Delta::default() });
            cache.end_batch();
            assert!(cache.settled.bytes <= cache.settled_byte_limit);
        }
        let held = |id: String| cache.view.promise(&PromiseId::from(&*id)).is_some();
        assert!((0..20).all(|batch| held(format!("p{batch}"))));
        let kept: Vec<_> = (0..20).filter(|batch| held(format!("s{batch}"))).collect();
        assert_eq!(kept, [0, 17, 18, 19]);

        let removed: BTreeSet<PromiseId> = (0..20)
            .flat_map(|batch| [format!("p{batch}"), format!("s{batch}")])
            .map(|id| PromiseId::from(&*id))
            .collect();
        cache.apply(&Delta { removed, ..Delta::default() });
        cache.end_batch();
        assert_eq!((cache.settled.bytes, cache.settled.queue.len(), cache.bytes), (0, 0, 0));
    }

    #[test]
    fn what_was_looked_up_for_a_command_is_not_held_for_ever() {
        let mut cache = Cache { limit: 100, byte_limit: 1 << 20, ..Cache::default() };
        for invocation in ["v", "w"].map(PromiseId::from) {
            let key = FactKey { saga: "trip".into(), seq: 0, kind: FactKind::Completed };
            let promise = invocation.clone();
            let fact = Fact { promise, compensate: None, unknown: false, at: Timestamp(0) };
            let facts = [((invocation, key), fact)];
            let resource =
                Resource { name: "lock".into(), value: Value::default(), token: FenceToken(1) };
            let resources = [(resource.name.clone(), resource)];
            cache.apply(&Delta {
                facts: facts.into(),
                resources: resources.into(),
                ..Delta::default()
            });
            assert_eq!(cache.view.rows(), 2);
            cache.end_batch();
            assert_eq!(cache.view.rows(), 0);
        }
    }

    /// A journal loaded for a single batch is evicted after it, together with its promise.
    #[test]
    fn a_promise_that_is_forgotten_keeps_its_number_while_another_waits_for_it() {
        let mut cache = Cache { limit: 100, byte_limit: 1 << 20, ..Cache::default() };
        let (awaited, awaiter) = (PromiseId::from("p"), PromiseId::from("w"));
        let made = ["p", "w"].map(|id| (id.into(), promise(id, 1)));
        let waits = [((awaited.clone(), awaiter), Some(true))];
        let delta = Delta { promises: made.into(), callbacks: waits.into(), ..Delta::default() };
        cache.apply(&delta);
        let number = cache.number(&awaited);
        cache.loaded(Footprint { tails: [(awaited.clone(), 0)].into(), ..Footprint::default() });
        cache.end_batch();
        assert!(cache.view.promise(&awaited).is_none() && !cache.is_whole(&awaited));
        assert_eq!(cache.view.callbacks_on(&awaited).count(), 1);
        assert_eq!(cache.number(&awaited), number, "the callback is written by it");
    }
}
