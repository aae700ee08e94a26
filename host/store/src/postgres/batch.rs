//! A transaction: locks and loads the rows that commands read, decides the commands, writes the
//! changes, and commits.

use std::sync::OnceLock;

use segno_core::{
    command::Command,
    config::Config,
    delta::Delta,
    effect::Effect,
    footprint::{Footprint, footprint},
    id::PromiseId,
    reply::Reply,
    time::Timestamp,
    transition::transition,
    view::View,
    widen,
};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::{
    claims::{RememberedClaims, WriteStamp},
    failure::{FailedStatement, is_undone},
    fields::escape,
    insertion::{InsertedKeys, NUMBERS},
    large_values,
    load::{LoadFailure, LockedRows},
    statement::query,
    tables::{OWNED_STATEMENTS, STREAM_DATA_STATEMENTS},
    time::DatabaseTime,
    transaction::SessionTransaction,
    write::{RAISE_FIRST_VERSION, REMOVE, REMOVE_PROMISES, write},
};
use crate::{
    hints::{self, CommitChanges},
    sql::{Cache, LoadRounds},
};

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

/// Reason why a batch was not committed.
#[derive(Debug)]
pub(super) enum CommitFailure {
    /// Nothing was written.
    Failed(FailedStatement),
    /// The outcome of the commit is unknown.
    Unknown(FailedStatement),
    /// Nothing was written: another transaction holds one of these rows. The next attempt must lock
    /// them first.
    LockFirst(Box<Footprint>),
    /// Nothing was written: another process started a new incarnation of the same host.
    Overtaken,
}

impl From<FailedStatement> for CommitFailure {
    fn from(failed: FailedStatement) -> Self {
        Self::Failed(failed)
    }
}

impl From<LoadFailure> for CommitFailure {
    fn from(not_loaded: LoadFailure) -> Self {
        match not_loaded {
            LoadFailure::Failed(failed) => Self::Failed(failed),
            LoadFailure::LockFirst(first) => Self::LockFirst(first),
        }
    }
}

/// A command with its footprint, which is computed on first use.
#[derive(Debug)]
pub(super) struct FootprintedCommand {
    pub(super) command: Command,
    named: OnceLock<Footprint>,
}

impl From<Command> for FootprintedCommand {
    fn from(command: Command) -> Self {
        Self { command, named: OnceLock::new() }
    }
}

impl FootprintedCommand {
    /// The rows that the command names.
    pub(super) fn named(&self) -> &Footprint {
        self.named.get_or_init(|| footprint(&self.command))
    }
}

/// A transaction in progress.
pub(super) struct WriteBatch<'a> {
    transaction: SessionTransaction<'a>,
    config: &'a Config,
    time: &'a DatabaseTime,
    claims: &'a RememberedClaims,
    /// The stamp of the tasks that it writes.
    stamp: WriteStamp,
    cache: Cache,
    locked: LockedRows,
    now: Timestamp,
    delta: Delta,
    /// New promises, in creation order.
    fresh: Vec<PromiseId>,
    keys: InsertedKeys,
    committed: CommittedBatch,
}

impl<'a> WriteBatch<'a> {
    /// A batch in a transaction that has just begun; `changes` collects the changed promises.
    pub(super) fn new(
        transaction: SessionTransaction<'a>,
        config: &'a Config,
        time: &'a DatabaseTime,
        claims: &'a RememberedClaims,
        stamp: WriteStamp,
        changes: CommitChanges,
    ) -> Self {
        Self {
            transaction,
            config,
            time,
            claims,
            stamp,
            cache: Cache::default(),
            locked: LockedRows::default(),
            now: Timestamp(0),
            delta: Delta::default(),
            fresh: Vec::new(),
            keys: InsertedKeys::default(),
            // `BEGIN`, and its end.
            committed: CommittedBatch { changes, statements: 2, ..CommittedBatch::default() },
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
                // If the rollback fails too, the connection is dropped, and the transaction with
                // it.
                self.transaction.rollback().await.map_err(FailedStatement::of("ROLLBACK"))?;
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
        let asked_at = self.time.asking();
        self.locked.load(&mut self.transaction, &mut self.cache, wanted).await?;
        self.now = self.time.of_server(self.locked.now, asked_at);
        let mut wanted = Footprint::default();
        for commands in submissions.iter().copied().flatten() {
            let (command, named) = (&commands.command, commands.named());
            wanted.merge(widen(&self.cache.view, command, named, self.config));
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
        while let Some(missing) = looks.next(&mut self.cache, command, self.config) {
            self.load(missing).await?;
        }
        let decision = transition(&self.cache.view, command, self.now, self.config);
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
        if let Some(version) = delta.first_version {
            let name = "raise the first version";
            self.enter().await?;
            self.committed.statements += 1;
            let query = query(&self.transaction, RAISE_FIRST_VERSION).bind(version.0.cast_signed());
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        let ids: Vec<_> = delta.removed.iter().map(|id| escape(id.as_str())).collect();
        let statements = &*STREAM_DATA_STATEMENTS;
        for statement in [&statements.remove_data, &statements.remove] {
            self.committed.statements += 1;
            let query = query(&self.transaction, AssertSqlSafe(statement.as_str())).bind(&ids);
            let name = "remove streams";
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        let numbers = delta.removed.iter().filter_map(|id| self.cache.number(id));
        let numbers: Vec<i64> = numbers.collect();
        let owned = OWNED_STATEMENTS.iter().map(|of| (of.of.remove, &*of.remove));
        if self.locked.has_large_values {
            let released = large_values::remove(&mut self.transaction, &numbers).await?;
            self.committed.released_chunks.extend(released);
            self.committed.statements += 1;
        }
        for (name, statement) in REMOVE.into_iter().chain(owned).chain([REMOVE_PROMISES]) {
            self.committed.statements += 1;
            let query = query(&self.transaction, AssertSqlSafe(statement)).bind(&numbers);
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        self.committed.wrote = true;
        self.cache.apply(delta);
        self.locked.forget(&delta.removed);
        Ok(())
    }

    /// Loads rows missing from the cache.
    async fn load(&mut self, missing: Footprint) -> Result<(), CommitFailure> {
        // Pending decisions must be written before the tables are read again.
        self.write().await?;
        self.locked.load(&mut self.transaction, &mut self.cache, missing).await?;
        Ok(())
    }

    /// Writes the decisions that are not written yet.
    async fn write(&mut self) -> Result<(), CommitFailure> {
        if self.delta.is_empty() {
            return Ok(());
        }
        let delta = std::mem::take(&mut self.delta);
        let fresh = std::mem::take(&mut self.fresh);
        if !fresh.is_empty() || delta.has_named() {
            self.enter().await?;
        }
        self.number(&fresh).await?;
        let fresh = fresh.into_iter().collect();
        let transaction = &mut self.transaction;
        let sent =
            write(transaction, &self.cache, &delta, &fresh, &self.locked, self.stamp).await?;
        let written = delta.tasks.keys().filter_map(|id| self.cache.number(id));
        self.locked.stamps.extend(written.map(|number| (number, self.stamp)));
        self.locked.wrote(sent.named);
        self.committed.wrote = true;
        self.committed.statements += sent.statements;
        self.locked.has_large_values |= sent.stored_large_values;
        self.committed.released_chunks.extend(sent.released_chunks);
        match sent.complete {
            true => Ok(()),
            false => Err(CommitFailure::Overtaken),
        }
    }

    /// Called before rows are inserted.
    async fn enter(&mut self) -> Result<(), FailedStatement> {
        let sent = self.keys.enter(&mut self.transaction).await?;
        self.committed.statements += usize::from(sent);
        Ok(())
    }

    /// Assigns numbers to new promises.
    async fn number(&mut self, fresh: &[PromiseId]) -> Result<(), FailedStatement> {
        if fresh.is_empty() {
            return Ok(());
        }
        let name = "number promises";
        self.committed.statements += 1;
        let query = query(&self.transaction, NUMBERS).bind(fresh.len() as i64);
        let rows = self.transaction.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        for (id, row) in fresh.iter().zip(&rows) {
            let number = row.try_get(0).map_err(FailedStatement::of(name))?;
            self.cache.renumber(id, number);
            self.locked.made(id, number);
        }
        Ok(())
    }

    async fn commit(mut self) -> Result<CommittedBatch, CommitFailure> {
        hints::drop_stale(&mut self.committed.effects, &self.cache.view);
        self.committed.statements += self.locked.statements;
        let committed = self.transaction.commit().await.map_err(FailedStatement::of("COMMIT"));
        match &committed {
            Ok(()) => self.claims.learn(&self.cache, &self.locked.stamps),
            Err(_) => self.claims.forget(self.cache.view.tasks().map(|task| &task.id)),
        }
        self.committed.state = std::mem::take(&mut self.cache.view);
        match committed {
            Ok(()) => Ok(self.committed),
            // The batch wrote nothing, so the failure does not matter.
            Err(_) if !self.committed.wrote => Ok(self.committed),
            Err(failed) if is_undone(&failed.source) => Err(CommitFailure::Failed(failed)),
            Err(failed) => Err(CommitFailure::Unknown(failed)),
        }
    }
}
