//! A transaction: locks and loads the rows that commands read, decides the commands, writes the
//! changes, and commits.
//!
//! In a store of several databases, a batch has a home, and joins other databases when its commands
//! need rows of theirs. If it writes to more than one, it commits in two phases ([`two_phase`]).
//! Rows of several databases are locked in the order of the databases at the beginning; what is
//! found to be needed later is locked only if that needs no waiting, as in one database.

mod command;
mod failure;
mod part;
mod two_phase;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_core::{
    command::Command,
    config::Config,
    delta::Delta,
    effect::Effect,
    footprint::Footprint,
    id::PromiseId,
    reply::Reply,
    shard::{DatabaseIndex, HALTED, ShardMap},
    time::Timestamp,
    transition::transition,
    view::View,
    widen,
};

pub(super) use self::{
    command::FootprintedCommand,
    failure::{CommitFailure, DatabaseFailure},
    part::BatchPart,
    two_phase::commit_together as commit_parts,
};
use super::{
    claims::WriteStamp,
    databases::{RowNumbers, StoreDatabases},
    failure::FailedStatement,
    held::PrimaryConnection,
    time::DatabaseTime,
};
use crate::{
    hints::{self, CommitChanges},
    sql::{Cache, LoadRounds, SqlFailure},
};

/// The reason for which a host does not find a database.
pub(super) const UNKNOWN_DATABASE: &str = "the rows are in a database that this host was not started with: start it again with all of them";

/// A place for a connection; `None` while it is closed.
pub(super) type ConnectionSlot = Option<PrimaryConnection>;

/// The result of a committed batch: the replies of each submission, and all hints in order.
#[derive(Debug, Default)]
pub(super) struct CommittedBatch {
    pub(super) replies: Vec<Vec<Reply>>,
    pub(super) effects: Vec<Effect>,
    /// Changed promises; collected only while a host watches changes.
    pub(super) changes: CommitChanges,
    /// Number of SQL statements executed.
    pub(super) statements: usize,
    /// True if anything was written.
    pub(super) wrote: bool,
    /// The rows that the batch loaded and changed.
    pub(super) state: View,
    /// Digests of the chunks that lost a use, and may have lost the last one.
    pub(super) released_chunks: Vec<Vec<u8>>,
}

/// The parts of a host that a batch uses.
#[derive(Clone, Copy)]
pub(super) struct BatchContext<'a> {
    pub(super) config: &'a Config,
    pub(super) time: &'a DatabaseTime,
    pub(super) databases: &'a StoreDatabases,
    pub(super) numbers: &'a RowNumbers,
    /// The database where the batch begins.
    pub(super) home: DatabaseIndex,
    /// True if its commands concern the rows of that database alone.
    pub(super) is_local: bool,
    /// The stamp of the tasks that it writes.
    pub(super) stamp: WriteStamp,
    /// A random number for the transaction's name in all databases.
    pub(super) nonce: u64,
}

/// A transaction in progress.
pub(super) struct WriteBatch<'a> {
    context: BatchContext<'a>,
    shards: Arc<ShardMap>,
    /// The databases that have joined, in that order.
    parts: Vec<BatchPart<'a>>,
    /// Connections of the other databases, by database.
    free: BTreeMap<DatabaseIndex, &'a mut ConnectionSlot>,
    cache: Cache,
    now: Timestamp,
    delta: Delta,
    /// New promises, in creation order.
    fresh: Vec<PromiseId>,
    committed: CommittedBatch,
}

impl<'a> WriteBatch<'a> {
    /// A batch over `connections`, one for each database; `changes` collects the changed promises.
    pub(super) fn new(
        context: BatchContext<'a>,
        connections: &'a mut [ConnectionSlot],
        changes: CommitChanges,
    ) -> Self {
        Self {
            shards: context.databases.shards.for_writes(),
            context,
            parts: Vec::with_capacity(1),
            free: connections.iter_mut().enumerate().collect(),
            cache: Cache::default(),
            now: Timestamp(0),
            delta: Delta::default(),
            fresh: Vec::new(),
            committed: CommittedBatch { changes, ..CommittedBatch::default() },
        }
    }

    /// Decides all submissions in order and commits them together. Locks `also` together with the
    /// rows that the commands name.
    pub(super) async fn run(
        mut self,
        submissions: &[&[FootprintedCommand]],
        also: &Footprint,
    ) -> Result<CommittedBatch, CommitFailure> {
        match self.decide_all(submissions, also).await {
            Ok(()) => self.commit().await,
            Err(not_committed) => {
                // If a rollback fails too, its connection is dropped, and the transaction with it.
                for part in self.parts {
                    let database = part.database;
                    part.rollback().await.map_err(CommitFailure::at(database))?;
                }
                Err(not_committed)
            }
        }
    }

    async fn decide_all(
        &mut self,
        submissions: &[&[FootprintedCommand]],
        also: &Footprint,
    ) -> Result<(), CommitFailure> {
        // One load for all commands; most batches then need no other.
        let mut wanted = also.clone();
        for commands in submissions.iter().copied().flatten() {
            wanted.merge(commands.named().clone());
        }
        // Trees are read when their command's turn comes: earlier commands may add to them.
        wanted.trees.clear();
        let asked_at = self.context.time.asking();
        self.load_from_all(wanted, true).await?;
        for part in &self.parts {
            self.now = self.context.time.of_server(part.locked.now, asked_at);
        }
        let mut wanted = Footprint::default();
        for commands in submissions.iter().copied().flatten() {
            let (command, named) = (&commands.command, commands.named());
            wanted.merge(widen(&self.cache.view, command, named, self.context.config));
        }
        let missing = self.cache.missing(wanted);
        if !missing.is_empty() {
            self.load(missing).await?;
        }
        for submission in submissions {
            let mut replies = Vec::with_capacity(submission.len());
            for commands in *submission {
                replies.push(self.decide(&commands.command, commands.named()).await?);
            }
            self.committed.replies.push(replies);
        }
        self.write().await
    }

    async fn decide(
        &mut self,
        command: &Command,
        named: &Footprint,
    ) -> Result<Reply, CommitFailure> {
        let mut looks = LoadRounds::of(named.clone());
        while let Some(missing) = looks.next(&mut self.cache, command, self.context.config) {
            self.load(missing).await?;
        }
        let decision = transition(&self.cache.view, command, self.now, self.context.config);
        self.committed.changes.add(&decision.delta);
        if decision.delta.removed.is_empty() {
            self.fresh.extend(self.cache.apply(&decision.delta));
            self.delta.merge(decision.delta);
        } else {
            self.remove(&decision.delta).await?;
        }
        self.committed.effects.extend(decision.effects);
        Ok(decision.reply)
    }

    /// Writes a decision that removes promises without delay, since their numbers vanish with them.
    async fn remove(&mut self, delta: &Delta) -> Result<(), CommitFailure> {
        self.delta.merge(delta.beside_removal());
        self.write().await?;
        let mut removed: BTreeMap<DatabaseIndex, BTreeSet<PromiseId>> = BTreeMap::new();
        for id in &delta.removed {
            removed.entry(self.shards.promise(id)).or_default().insert(id.clone());
        }
        for (database, ids) in removed {
            self.drop_crossings(database, &ids).await?;
            let place = self.join(database, false).await?;
            let part = &mut self.parts[place];
            let released = part.remove(&self.cache, &ids, delta.first_version).await;
            self.committed.released_chunks.extend(released.map_err(CommitFailure::at(database))?);
            part.locked.forget(&ids);
        }
        self.cache.apply(delta);
        Ok(())
    }

    /// Removes the callbacks of promises that leave `database` from the other databases.
    async fn drop_crossings(
        &mut self,
        database: DatabaseIndex,
        ids: &BTreeSet<PromiseId>,
    ) -> Result<(), CommitFailure> {
        if self.shards.is_single() {
            return Ok(());
        }
        let view = &self.cache.view;
        let mut elsewhere: BTreeMap<DatabaseIndex, Vec<(PromiseId, PromiseId)>> = BTreeMap::new();
        for id in ids {
            let on = view.callbacks_on(id).map(|(by, _)| (by, (id.clone(), by.clone())));
            let by = view.awaited_by(id).map(|on| (on, (on.clone(), id.clone())));
            for (other, pair) in on.chain(by) {
                let other = self.shards.promise(other);
                if other != database {
                    elsewhere.entry(other).or_default().push(pair);
                }
            }
        }
        for (database, pairs) in elsewhere {
            let place = self.join(database, false).await?;
            let dropped = self.parts[place].drop_crossings(&pairs).await;
            dropped.map_err(CommitFailure::at(database))?;
        }
        Ok(())
    }

    /// Loads rows missing from the cache.
    async fn load(&mut self, missing: Footprint) -> Result<(), CommitFailure> {
        // Pending decisions must be written before the tables are read again.
        self.write().await?;
        self.load_from_all(missing, false).await
    }

    /// Loads rows, each from its database, in the order of the databases. `waits` is true at the
    /// beginning of the batch, when locks may be waited for.
    async fn load_from_all(
        &mut self,
        mut wanted: Footprint,
        waits: bool,
    ) -> Result<(), CommitFailure> {
        let limits = wanted.without_absent_limits(&self.shards);
        if !limits.is_empty() {
            self.cache.loaded(Footprint { limits, ..Footprint::default() });
        }
        let mut parts = wanted.split(&self.shards, self.context.home);
        if self.context.is_local {
            // Lists of what lies anywhere.
            parts.retain(|database, part| *database == self.context.home || !part.is_of_anywhere());
        }
        // A host starts without the databases that are away; they get its incarnation when they arrive.
        let is_withheld = |database| self.context.databases.is_withheld(database);
        parts.retain(|database, part| !(is_withheld(*database) && part.is_of_hosts()));
        if waits && parts.is_empty() {
            parts.insert(self.context.home, Footprint::default());
        }
        let mut elsewhere = BTreeSet::new();
        for (database, wanted) in parts {
            let mut awaiters = self.load_from(database, wanted, waits).await?;
            elsewhere.append(&mut awaiters);
        }
        // The awaiters of a promise are always loaded with it.
        let awaiters = self.cache.missing(Footprint { rows: elsewhere, ..Footprint::default() });
        for (database, wanted) in awaiters.split(&self.shards, self.context.home) {
            if !wanted.is_empty() {
                self.load_from(database, wanted, false).await?;
            }
        }
        if self.parts.len() > 1 {
            for part in &mut self.parts {
                let database = part.database;
                let read = part.read_again(&mut self.cache).await;
                read.map_err(CommitFailure::at(database))?;
                let is_elsewhere = |id: &PromiseId| self.shards.promise(id) != database;
                let checked = part.check_crossings(&self.cache, is_elsewhere).await;
                checked.map_err(CommitFailure::at(database))?;
            }
        }
        Ok(())
    }

    /// Loads rows from one database. Returns the awaiters in other databases that it found.
    async fn load_from(
        &mut self,
        database: DatabaseIndex,
        wanted: Footprint,
        waits: bool,
    ) -> Result<BTreeSet<PromiseId>, CommitFailure> {
        let place = self.join(database, waits).await?;
        let part = &mut self.parts[place];
        part.load(&mut self.cache, wanted).await.map_err(CommitFailure::at(database))?;
        // Rows that are missing may have moved.
        match part.locked.epoch > self.shards.epoch.cast_signed() {
            true => Err(CommitFailure::NewMap(database)),
            false => Ok(std::mem::take(&mut part.locked.awaiters_elsewhere)),
        }
    }

    /// Begins the transaction in a database, unless it has joined. Returns the place of its part.
    async fn join(&mut self, database: DatabaseIndex, waits: bool) -> Result<usize, CommitFailure> {
        if let Some(place) = self.parts.iter().position(|part| part.database == database) {
            return Ok(place);
        }
        if database == HALTED {
            return Err(CommitFailure::Halted);
        }
        if database >= self.context.databases.len() {
            return Err(self.unknown_database());
        }
        let of = self.context.databases.at(database);
        let is_home = database == self.context.home;
        if !is_home && of.availability.is_away_now() {
            let reason = format!("{} does not answer", of.shown);
            let source = SqlFailure::NotPrimary(reason);
            let failed = FailedStatement { statement: "connect", source };
            return Err(DatabaseFailure { database, failed }.into());
        }
        let slot = self.free.remove(&database).expect("each database joins once");
        let begun =
            BatchPart::begin(of, slot, database, is_home, waits, !self.shards.is_single()).await;
        self.parts.push(begun.map_err(CommitFailure::at(database))?);
        Ok(self.parts.len() - 1)
    }

    /// The host was not started with all databases of the map.
    fn unknown_database(&self) -> CommitFailure {
        let source = SqlFailure::Unreadable(UNKNOWN_DATABASE.into());
        let failed = FailedStatement { statement: "connect", source };
        DatabaseFailure { database: self.context.home, failed }.into()
    }

    /// Writes the decisions that are not written yet.
    async fn write(&mut self) -> Result<(), CommitFailure> {
        if self.delta.is_empty() {
            return Ok(());
        }
        let delta = std::mem::take(&mut self.delta);
        let limits = delta
            .limits
            .iter()
            .filter(|(name, limit)| limit.is_some() && !self.shards.knows_limit(name));
        let limits: BTreeSet<_> = limits.map(|(name, _)| name.clone()).collect();
        if !limits.is_empty() {
            let is_known = self.shards.database_count() == self.context.databases.len();
            return Err(match is_known {
                true => CommitFailure::NewLimits(limits),
                false => self.unknown_database(),
            });
        }
        let fresh = std::mem::take(&mut self.fresh);
        let mut is_complete = true;
        for (database, written) in delta.split(&self.shards) {
            if self.context.databases.is_withheld(database) && written.is_of_hosts() {
                continue;
            }
            let place = self.join(database, false).await?;
            let is_spread = self.parts.len() > 1;
            let part = &mut self.parts[place];
            let fresh: Vec<&PromiseId> =
                fresh.iter().filter(|id| self.shards.promise(id) == database).collect();
            let number = async {
                part.number(&mut self.cache, &fresh, self.now, &self.context, is_spread).await?;
                part.write(&self.cache, written, &fresh, self.context.stamp).await
            };
            let summary = number.await.map_err(CommitFailure::at(database))?;
            is_complete &= summary.complete;
            self.committed.released_chunks.extend(summary.released_chunks);
        }
        match is_complete {
            true => Ok(()),
            false => Err(CommitFailure::Overtaken),
        }
    }

    async fn commit(mut self) -> Result<CommittedBatch, CommitFailure> {
        hints::drop_stale(&mut self.committed.effects, &self.cache.view);
        self.committed.statements += self.parts.iter().map(BatchPart::statements).sum::<usize>();
        self.committed.wrote = self.parts.iter().any(|part| part.wrote);
        let databases = self.context.databases;
        let stamps: Vec<_> = self
            .parts
            .iter_mut()
            .map(|part| (part.database, std::mem::take(&mut part.locked.stamps)))
            .collect();
        let committed = two_phase::commit(self.parts, &self.context).await;
        for (database, stamps) in stamps {
            let claims = &databases.at(database).claims;
            match &committed {
                Ok(()) => claims.learn(&self.cache, &stamps),
                Err(_) => claims.forget(self.cache.view.tasks().map(|task| &task.id)),
            }
        }
        self.committed.state = std::mem::take(&mut self.cache.view);
        match committed {
            Ok(()) => Ok(self.committed),
            // The batch wrote nothing, so the failure does not matter.
            Err(_) if !self.committed.wrote => Ok(self.committed),
            Err(failed) => Err(failed),
        }
    }
}
