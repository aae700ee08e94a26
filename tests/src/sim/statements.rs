//! The simulated database, as PostgreSQL behaves under `READ COMMITTED`. A decision takes several
//! statements. Each of them sees the rows committed at its start, and other transactions commit in
//! between. A statement that waits for a row sees the row's latest version afterwards, but no row
//! that was inserted meanwhile.
//!
//! The store itself defines the statements and their order ([`PLAN`]). Here they run over rows in
//! memory. Every decision must equal the one that the rules make on all rows of the last snapshot.
//! So a plan that lets a decision see half of another transaction is found by any script in which
//! another client writes there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_core::{
    command::Command,
    delta::Delta,
    footprint::{Footprint, footprint},
    id::PromiseId,
    invocation::JournalHead,
    limit::PartitionId,
    model::Model,
    promise::{OutboxKey, PromiseSpec},
    reply::{PruneResult, Reply},
    time::{Millis, Timestamp},
    transition::{Decision, transition},
    view::View,
    widen,
};
use segno_env::{Clock as _, Runtime as _};
use segno_store::postgres::{LoadStep, PLAN};

use super::{
    database::Database,
    locks::{Name, Row},
};

/// Maximum number of rounds after which a command's rows must be known.
const LOOKS: usize = 8;
/// Time, in milliseconds, after which a wait for a row counts as endless.
const LONGEST: u32 = 30_000;

/// The batch must begin again, with these rows among the first that are locked.
#[derive(Debug, Default)]
pub(super) struct Again(Box<Footprint>);

impl Again {
    /// Adds these composites to the first rows that are locked.
    fn with(composites: BTreeSet<PromiseId>) -> Self {
        Self(Box::new(Footprint { composites, ..Footprint::default() }))
    }
}

/// A decided command, with the time of the decision.
pub(super) struct Decided {
    pub decision: Decision,
    /// Time of the step.
    pub now: Timestamp,
}

/// One transaction.
struct Transaction<'a> {
    database: &'a Database,
    number: u64,
    /// Promises that were looked up, with the row found. `None` if there was none.
    found: BTreeMap<PromiseId, Option<Arc<PromiseSpec>>>,
    /// Awaiters of which only the task is locked.
    awaiters: BTreeSet<PromiseId>,
    /// Names that were looked up. True if the row was found.
    names: BTreeMap<Name, bool>,
    /// Footprint loaded so far.
    loaded: Footprint,
    /// Decisions so far, as changes to rows.
    own: Delta,
    /// All rows of the last snapshot.
    whole: Arc<Model>,
    /// The part of these rows that decisions see.
    view: View,
    now: Option<Timestamp>,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.database.locks.release(self.number);
    }
}

impl Database {
    /// Decides these commands as one transaction, restarted as often as necessary. `commit` writes
    /// the decisions before any lock is released.
    pub(super) async fn transact<T>(
        &self,
        commands: &[Command],
        commit: impl FnOnce(Vec<Decided>) -> T,
    ) -> T {
        let mut also = Footprint::default();
        loop {
            let mut transaction = Transaction::begin(self);
            match transaction.decide_all(commands, &also).await {
                Ok(decided) => return commit(decided),
                Err(Again(first)) => also.merge(*first),
            }
            drop(transaction);
            self.runtime.sleep(Millis(self.draw(1, 6))).await;
        }
    }
}

impl<'a> Transaction<'a> {
    fn begin(database: &'a Database) -> Self {
        Self {
            database,
            number: database.next_transaction(),
            found: BTreeMap::new(),
            awaiters: BTreeSet::new(),
            names: BTreeMap::new(),
            loaded: Footprint::default(),
            own: Delta::default(),
            whole: Arc::default(),
            view: View::new(),
            now: None,
        }
    }

    async fn decide_all(
        &mut self,
        commands: &[Command],
        also: &Footprint,
    ) -> Result<Vec<Decided>, Again> {
        let mut wanted = also.clone();
        commands.iter().for_each(|command| wanted.merge(footprint(command)));
        wanted.trees.clear();
        self.load(wanted).await?;
        let mut wanted = Footprint::default();
        let database = self.database;
        for command in commands {
            wanted.merge(widen(&self.view, command, &footprint(command), &database.config));
        }
        self.load_missing(wanted).await?;
        let mut decided = Vec::new();
        for command in commands {
            decided.push(self.decide(command).await?);
        }
        self.write().await?;
        Ok(decided)
    }

    async fn decide(&mut self, command: &Command) -> Result<Decided, Again> {
        let named = footprint(command);
        let database = self.database;
        for _ in 0..LOOKS {
            let mut wanted = widen(&self.view, command, &named, &database.config);
            wanted.merge(named.clone());
            if !self.load_missing(wanted).await? {
                break;
            }
        }
        let now = self.now.unwrap_or_else(|| database.clock.now());
        let decision = transition(&self.view, command, now, &database.config);
        let expected = self.whole.decide(command, now, &database.config);
        // The reason why a tree is kept may come from any of the instants at which its rows were
        // read.
        let stays = |reply: &Reply| matches!(reply, Reply::Pruned(PruneResult::Kept(_)));
        let is_same_reply =
            decision.reply == expected.reply || stays(&decision.reply) && stays(&expected.reply);
        if !is_same_reply || decision.delta != expected.delta {
            database.log.finding(format_args!(
                "visibility: {command:?} was answered {:?}, and on all rows of one snapshot it is {:?}; it writes {:?}, and on all rows {:?}",
                decision.reply, expected.reply, decision.delta, expected.delta
            ));
        }
        self.own.merge(decision.delta.clone());
        if !decision.delta.is_empty() {
            let whole = Arc::make_mut(&mut self.whole);
            let absent = self.names.iter_mut().filter(|(name, _)| !name.is_in(whole));
            let absent: Vec<_> = absent.collect();
            whole.apply(&decision.delta);
            // This transaction inserts these rows itself.
            absent.into_iter().for_each(|(name, found)| *found |= name.is_in(whole));
        }
        self.view.apply(&decision.delta);
        self.turns_changed(&decision.delta);
        for id in &decision.delta.removed {
            self.found.insert(id.clone(), None);
        }
        for (id, promise) in &decision.delta.promises {
            self.found.insert(id.clone(), Some(promise.spec.clone()));
        }
        Ok(Decided { decision, now })
    }

    /// Forgets loaded pages whose order this delta changes.
    fn turns_changed(&mut self, delta: &Delta) {
        for name in delta.partitions.keys().map(PartitionId::limit) {
            self.loaded.rounds.remove(&name);
            self.loaded.sweeps.remove(&name);
        }
        if !delta.places.is_empty() {
            self.loaded.lanes.clear();
        }
    }

    /// Rows that another statement of this transaction would see now: committed rows and the
    /// transaction's own writes.
    fn snapshot(&self) -> Arc<Model> {
        let mut rows = self.database.memory.rows();
        if !self.own.is_empty() {
            Arc::make_mut(&mut rows).apply(&self.own);
        }
        rows
    }

    async fn load_missing(&mut self, wanted: Footprint) -> Result<bool, Again> {
        let missing = missing(wanted, &self.loaded);
        if missing.is_empty() {
            return Ok(false);
        }
        self.load(missing).await?;
        Ok(true)
    }

    /// Loads rows by the store's plan, entry by entry.
    async fn load(&mut self, wanted: Footprint) -> Result<(), Again> {
        let waits = self.now.is_none();
        let ids = self.to_lock(&wanted);
        let mut locked = Vec::new();
        for read in PLAN {
            self.database.pause().await;
            match read {
                LoadStep::LockNamed => self.lock_named(&wanted, waits).await,
                LoadStep::LockPromises => locked = self.lock_promises(&ids, waits).await,
                LoadStep::LockTasks => self.lock_tasks(&locked, &ids, waits).await?,
                // These rows are locked, so they do not change until the last snapshot.
                LoadStep::Promises => {}
                LoadStep::Rest { again } => {
                    self.whole = self.snapshot();
                    if again {
                        self.look_again()?;
                    }
                    self.now.get_or_insert_with(|| self.database.clock.now());
                    self.loaded.merge(wanted.clone());
                    self.see();
                }
                LoadStep::Owned => {}
            }
        }
        Box::pin(self.load_found(&wanted)).await
    }

    /// Loads and locks rows that are found by more than their id.
    async fn load_found(&mut self, wanted: &Footprint) -> Result<(), Again> {
        let found = |rows: &Model| {
            let mut found = BTreeSet::new();
            for (parent, page) in &wanted.children {
                let children = rows.children(parent, page.after.as_ref());
                found.extend(children.take(page.limit as usize).cloned());
            }
            for object in &wanted.promises_of {
                found.extend(rows.promises_of(object).map(|promise| promise.id().clone()));
            }
            for (top, limit) in &wanted.trees {
                let tree = rows.tree(top, *limit);
                found.extend(if tree.whole { tree.members } else { BTreeSet::from([top.clone()]) });
            }
            found
        };
        let partitions = partitions(&self.snapshot(), wanted);
        self.load_missing(Footprint { partitions, ..Footprint::default() }).await?;
        let composites = found(&self.snapshot());
        let rows = self.held_by(wanted);
        if !(wanted.held_by.is_empty()
            && wanted.children.is_empty()
            && wanted.trees.is_empty()
            && wanted.promises_of.is_empty())
        {
            // If the lookup finds nothing, it is the last statement.
            self.whole = self.snapshot();
        }
        if composites.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let inner = Footprint { composites, rows, ..Footprint::default() };
        self.load_missing(inner.clone()).await?;
        self.database.pause().await;
        let now = self.snapshot();
        let new: BTreeSet<_> = self.held_by(wanted).difference(&inner.rows).cloned().collect();
        match found(&now) == inner.composites && new.is_empty() {
            true => Ok(()),
            false => Err(Again::with(inner.composites.into_iter().chain(new).collect())),
        }
    }

    fn held_by(&self, wanted: &Footprint) -> BTreeSet<PromiseId> {
        let rows = self.snapshot();
        let held = rows.tasks().filter(|task| {
            task.lease().is_some_and(|lease| wanted.held_by.contains(&lease.holder.node))
        });
        held.map(|task| task.id.clone()).collect()
    }

    /// Builds the view from the loaded rows of the last snapshot.
    fn see(&mut self) {
        let (found, awaiters) = (&self.found, &self.awaiters);
        let is_found =
            |id: &PromiseId| found.get(id).is_some_and(Option::is_some) || awaiters.contains(id);
        let mut loaded = self.loaded.clone();
        loaded.rows.extend(self.awaiters.iter().cloned());
        self.view = self.whole.load(&loaded, is_found);
    }

    /// Restarts the transaction if a row that was looked up in vain exists now.
    fn look_again(&self) -> Result<(), Again> {
        let absent = self.found.iter().filter(|(_, row)| row.is_none()).map(|(id, _)| id);
        let appeared: BTreeSet<PromiseId> =
            absent.filter(|id| self.whole.promise(id).is_some()).cloned().collect();
        let mut first = Footprint { composites: appeared, ..Footprint::default() };
        let absent = self.names.iter().filter(|(_, found)| !**found).map(|(name, _)| name);
        let there = absent.filter(|name| name.is_in(&self.whole));
        there.for_each(|name| name.clone().want(&mut first));
        match first.is_empty() {
            true => Ok(()),
            false => Err(Again(Box::new(first))),
        }
    }

    fn to_lock(&self, wanted: &Footprint) -> BTreeSet<PromiseId> {
        let mut ids: BTreeSet<&PromiseId> = wanted.composites.iter().chain(&wanted.rows).collect();
        ids.extend(wanted.outbox.iter().map(OutboxKey::promise));
        ids.extend(wanted.tails.keys().chain(wanted.children.keys()));
        ids.extend(wanted.signal_keys.iter().map(|(invocation, _)| invocation));
        ids.into_iter().filter(|id| !self.found.contains_key(*id)).cloned().collect()
    }

    async fn lock_named(&mut self, wanted: &Footprint, waits: bool) {
        for id in &wanted.schedules {
            self.lock(Row::Schedule(id.as_str().to_owned())).await;
        }
        for name in &wanted.resources {
            self.lock(Row::Resource(name.as_str().to_owned())).await;
        }
        let rows = self.snapshot();
        for name in Name::wanted(wanted) {
            let lock = Row::Named(name.clone());
            let is_held = match (name.is_in(&rows), waits) {
                (false, _) => false,
                (true, true) => {
                    self.lock(lock).await;
                    true
                }
                (true, false) => self.database.locks.take(&lock, self.number),
            };
            // The row may have been removed during the wait.
            let found = is_held && name.is_in(&self.snapshot());
            self.names.insert(name, found);
        }
    }

    /// Locks the promises in the statement's snapshot. Returns those that still exist once they are
    /// locked.
    async fn lock_promises(&mut self, ids: &BTreeSet<PromiseId>, waits: bool) -> Vec<PromiseId> {
        let rows = self.snapshot();
        let mut locked = Vec::new();
        for id in ids {
            let known = rows.promise(id).map(|promise| promise.spec.clone());
            let mut row = None;
            if let Some(spec) = known {
                let lock = Row::Promise(id.clone());
                let is_held = match waits {
                    true => {
                        self.lock(lock).await;
                        true
                    }
                    false => self.database.locks.take(&lock, self.number),
                };
                // It must be the same row, not another one with its id.
                let now = self.snapshot();
                let same = now.promise(id).filter(|now| Arc::ptr_eq(&now.spec, &spec));
                row = same.filter(|_| is_held).map(|promise| promise.spec.clone());
            }
            locked.extend(row.is_some().then(|| id.clone()));
            self.found.insert(id.clone(), row);
        }
        locked
    }

    async fn lock_tasks(
        &mut self,
        locked: &[PromiseId],
        ids: &BTreeSet<PromiseId>,
        waits: bool,
    ) -> Result<(), Again> {
        let rows = self.snapshot();
        let mut tasks: BTreeSet<PromiseId> = locked.iter().cloned().collect();
        for id in locked {
            tasks.extend(rows.callbacks_on(id).map(|(by, _)| by.clone()));
        }
        for id in tasks.into_iter().filter(|id| rows.task(id).is_some()) {
            let lock = Row::Task(id.clone());
            if waits {
                self.lock(lock).await;
            } else if !self.database.locks.take(&lock, self.number) {
                return Err(Again::with(ids.clone()));
            }
            if !locked.contains(&id) {
                self.awaiters.insert(id);
            }
        }
        Ok(())
    }

    async fn lock(&self, row: Row) {
        for _ in 0..LONGEST {
            if self.database.locks.take(&row, self.number) {
                return;
            }
            self.database.runtime.sleep(Millis(1)).await;
        }
        let held = self.database.locks.all();
        self.database.log.finding(format_args!(
            "deadlock: {row:?} is never released to transaction {}; held are {held:?}",
            self.number
        ));
        std::future::pending().await
    }

    /// Inserts a row with its own name. If another transaction inserts it, this one waits. The key
    /// of a committed row is refused at once, also while that row is locked.
    async fn insert_named(&self, name: &Name) -> Result<(), Again> {
        let lock = Row::Named(name.clone());
        for _ in 0..LONGEST {
            if name.is_in(&self.database.memory.rows()) {
                return Err(Again::default());
            }
            if self.database.locks.take(&lock, self.number) {
                return Ok(());
            }
            self.database.runtime.sleep(Millis(1)).await;
        }
        self.lock(lock).await;
        Ok(())
    }

    /// Writes. Locked rows need nothing, other rows are waited for, and a key that is already taken
    /// means a lost race.
    async fn write(&mut self) -> Result<(), Again> {
        self.database.pause().await;
        let own = self.own.clone();
        let before = self.database.memory.rows();
        let is_there = |id: &&PromiseId| {
            let now = before.promise(id).filter(|_| !own.removed.contains(*id));
            now.is_some_and(|now| own.promises[*id].spec == now.spec)
        };
        let made: Vec<PromiseId> =
            own.promises.keys().filter(|id| !is_there(id)).cloned().collect();
        for id in &made {
            self.lock(Row::Key(id.clone())).await;
        }
        for id in own.tasks.keys() {
            self.lock(Row::Task(id.clone())).await;
        }
        let unlocked = |name: &Name| self.names.get(name) != Some(&true);
        let written: Vec<Name> = Name::written(&own).filter(unlocked).collect();
        for name in &written {
            self.insert_named(name).await?;
        }
        let rows = self.database.memory.rows();
        let joined = written.iter().any(|name| name.is_in(&rows));
        let taken = made.iter().any(|id| rows.promise(id).is_some() && !own.removed.contains(id));
        let mut heads = BTreeMap::new();
        let grew = own.appends.iter().any(|append| {
            let stored = match own.removed.contains(&append.invocation) {
                true => JournalHead::default(),
                false => rows.head(&append.invocation),
            };
            heads.insert(&append.invocation, append.after).unwrap_or(stored) != append.before
        });
        let overtaken = own.hosts.iter().any(|(node, life)| rows.incarnation(node) >= *life);
        let noted = own.facts.keys().any(|(id, key)| rows.fact(id, key).is_some());
        match taken || joined || grew || overtaken || noted {
            true => Err(Again::default()),
            false => Ok(()),
        }
    }
}

/// Partitions of limits that are found by their order.
fn partitions(rows: &Model, wanted: &Footprint) -> BTreeSet<PartitionId> {
    let mut found = BTreeSet::new();
    for (name, most) in &wanted.rounds {
        let next = rows.next_partitions(name, *most);
        found.extend(next.ready.into_iter().chain(next.timed));
    }
    for (name, page) in &wanted.sweeps {
        let swept = rows.partitions_of(name, page.after.as_ref()).take(page.limit as usize);
        found.extend(swept.map(|(id, _)| id.clone()));
    }
    found
}

/// The part of a footprint that is not loaded yet. Trees are always loaded again.
fn missing(mut wanted: Footprint, loaded: &Footprint) -> Footprint {
    wanted.composites.retain(|id| !loaded.composites.contains(id));
    let composites = wanted.composites.clone();
    wanted.rows.retain(|id| {
        !composites.contains(id) && !loaded.composites.contains(id) && !loaded.rows.contains(id)
    });
    wanted.tails.retain(|id, from| loaded.tails.get(id).is_none_or(|known| known > from));
    wanted.children.retain(|id, _| !loaded.children.contains_key(id));
    wanted.trees.retain(|id, _| !loaded.trees.contains_key(id));
    wanted.outbox.retain(|key| !loaded.outbox.contains(key));
    wanted.held_by.retain(|node| !loaded.held_by.contains(node));
    wanted.signal_keys.retain(|key| !loaded.signal_keys.contains(key));
    wanted.schedules.retain(|id| !loaded.schedules.contains(id));
    wanted.aliases.retain(|alias| !loaded.aliases.contains(alias));
    wanted.modules.retain(|module| !loaded.modules.contains(module));
    wanted.hosts.retain(|node| !loaded.hosts.contains(node));
    wanted.resources.retain(|name| !loaded.resources.contains(name));
    wanted.facts.retain(|id| !loaded.facts.contains(id));
    wanted.lines.retain(|object| !loaded.lines.contains(object));
    wanted.promises_of.retain(|object| !loaded.promises_of.contains(object));
    wanted.limits.retain(|name| !loaded.limits.contains(name));
    wanted.partitions.retain(|id| !loaded.partitions.contains(id));
    wanted.places.retain(|id| !loaded.places.contains(id));
    wanted.tree_counts.retain(|root| !loaded.tree_counts.contains(root));
    wanted.budgets.retain(|account| !loaded.budgets.contains(account));
    wanted.rounds.retain(|name, most| loaded.rounds.get(name).is_none_or(|had| had < most));
    wanted.sweeps.retain(|name, page| loaded.sweeps.get(name) != Some(page));
    wanted.lanes.retain(|lane, most| loaded.lanes.get(lane).is_none_or(|had| had < most));
    wanted
}
