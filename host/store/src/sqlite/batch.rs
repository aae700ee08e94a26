//! A transaction: decides commands on the state in memory, writes their changes, and commits.

use std::collections::BTreeSet;

use segno_core::{
    command::Command,
    config::Config,
    delta::Delta,
    effect::Effect,
    footprint::{Footprint, footprint},
    id::PromiseId,
    reply::Reply,
    rests_on,
    time::Timestamp,
    transition::{Decision, transition},
    widen,
};

use super::{
    connection::{Connection, FailedStatement},
    failure, load,
    write::{remove, write},
    writer::Submission,
    writer_cache::WriterCache,
};
use crate::{
    hints::{self, CommitChanges},
    sql::LoadRounds,
};

const COMMIT: &str = "COMMIT";

/// The result of a committed batch: the replies of each submission, and all hints in order.
#[derive(Debug, Default)]
pub(super) struct CommittedBatch {
    pub(super) replies: Vec<Vec<Reply>>,
    pub(super) effects: Vec<Effect>,
    /// Changed promises; collected only while a host watches changes.
    pub(super) changes: CommitChanges,
    /// Number of write statements executed.
    pub(super) statements: u64,
    /// Number of times that rows had to be read.
    pub(super) loads: usize,
}

/// Reason why a batch was not committed. The cache must be cleared.
#[derive(Debug)]
pub(super) enum CommitFailure {
    /// Nothing was written.
    Refused(FailedStatement),
    /// The outcome of the commit is unknown.
    Unknown(FailedStatement),
    /// The disk failed earlier; nothing was written.
    Stopped,
}

/// A transaction in progress.
pub(super) struct WriteBatch<'a> {
    connection: &'a mut Connection,
    writer_cache: &'a mut WriterCache,
    config: &'a Config,
    now: Timestamp,
    delta: Delta,
    fresh: BTreeSet<PromiseId>,
    begun: bool,
    /// Number of statements that the connection had executed before this batch.
    run_before: u64,
    committed: CommittedBatch,
}

impl<'a> WriteBatch<'a> {
    /// An empty batch at `now`; `changes` collects the changed promises.
    pub(super) fn new(
        connection: &'a mut Connection,
        writer_cache: &'a mut WriterCache,
        config: &'a Config,
        now: Timestamp,
        changes: CommitChanges,
    ) -> Self {
        Self {
            run_before: connection.run(),
            connection,
            writer_cache,
            config,
            now,
            delta: Delta::default(),
            fresh: BTreeSet::new(),
            begun: false,
            committed: CommittedBatch { changes, ..CommittedBatch::default() },
        }
    }

    /// Decides all submissions in order and commits them together.
    pub(super) fn run(
        mut self,
        submissions: &[Submission],
    ) -> Result<CommittedBatch, CommitFailure> {
        match self.decide_all(submissions) {
            Ok(()) => self.commit(),
            Err(failed) => {
                self.roll_back();
                Err(CommitFailure::Refused(failed))
            }
        }
    }

    fn decide_all(&mut self, submissions: &[Submission]) -> Result<(), FailedStatement> {
        let commands = || submissions.iter().flat_map(|submission| &*submission.commands);
        let named: Vec<_> = commands().map(|command| self.names(command)).collect();
        // Load all rows that the commands name in one go, and then the rows those lead to. Usually
        // all of them are cached.
        let mut wanted = Footprint::default();
        let mut incomplete = Vec::new();
        for (command, named) in commands().zip(&named) {
            if let Some(named) = named
                && !self.writer_cache.rows.has(named)
            {
                wanted.merge(named.clone());
                incomplete.push((command, named));
            }
        }
        // Trees are read when their command's turn comes: earlier commands may add to them.
        wanted.trees.clear();
        if self.load_missing(wanted)? {
            let mut wider = Footprint::default();
            for (command, named) in incomplete {
                wider.merge(widen(&self.writer_cache.rows.view, command, named, self.config));
            }
            self.load_missing(wider)?;
        }
        let mut named = named.into_iter();
        for Submission { commands, .. } in submissions {
            let mut replies = Vec::with_capacity(commands.len());
            for (command, named) in commands.iter().zip(named.by_ref()) {
                replies.push(self.decide(command, named)?);
            }
            self.committed.replies.push(replies);
        }
        Ok(())
    }

    /// The footprint of a command. `None` if the command depends only on a claim whose rows are
    /// cached: it usually just appends, and no lookup is needed.
    fn names(&mut self, command: &Command) -> Option<Footprint> {
        let claim = rests_on(command).filter(|claim| self.writer_cache.rows.holds_whole(&claim.id));
        claim.is_none().then(|| footprint(command))
    }

    fn decide(
        &mut self,
        command: &Command,
        named: Option<Footprint>,
    ) -> Result<Reply, FailedStatement> {
        let named = match named {
            Some(named) => named,
            None => {
                let view = &self.writer_cache.rows.view;
                let decision = transition(view, command, self.now, self.config);
                if decision.delta.only_appends() {
                    return Ok(self.take(decision));
                }
                footprint(command)
            }
        };
        let mut looks = LoadRounds::of(named);
        while let Some(missing) = looks.next(&mut self.writer_cache.rows, command, self.config) {
            self.load(missing)?;
        }
        let decision = transition(&self.writer_cache.rows.view, command, self.now, self.config);
        if decision.delta.removed.is_empty() {
            return Ok(self.take(decision));
        }
        self.remove(&decision.delta)?;
        self.committed.effects.extend(decision.effects);
        Ok(decision.reply)
    }

    /// Merges a decision into the pending changes.
    fn take(&mut self, decision: Decision) -> Reply {
        self.fresh.extend(self.writer_cache.rows.apply(&decision.delta));
        self.committed.changes.add(&decision.delta);
        self.delta.merge(decision.delta);
        self.committed.effects.extend(decision.effects);
        decision.reply
    }

    /// Writes a decision that removes promises without delay, since their numbers vanish with them.
    fn remove(&mut self, delta: &Delta) -> Result<(), FailedStatement> {
        self.committed.changes.add(delta);
        self.delta.merge(delta.beside_removal());
        self.write()?;
        remove(self.connection, self.writer_cache, delta)?;
        self.writer_cache.rows.apply(delta);
        Ok(())
    }

    /// Loads the part of `wanted` that the cache lacks. Returns true if anything was missing.
    fn load_missing(&mut self, wanted: Footprint) -> Result<bool, FailedStatement> {
        let missing = self.writer_cache.rows.missing(wanted);
        if missing.is_empty() {
            return Ok(false);
        }
        self.load(missing)?;
        Ok(true)
    }

    /// Loads rows missing from the cache.
    fn load(&mut self, missing: Footprint) -> Result<(), FailedStatement> {
        // Pending decisions must be written before the tables are read again.
        if !self.delta.is_empty() {
            self.write()?;
        }
        self.committed.loads += 1;
        load::load(self.connection, self.writer_cache, missing)
    }

    fn commit(mut self) -> Result<CommittedBatch, CommitFailure> {
        hints::drop_stale(&mut self.committed.effects, &self.writer_cache.rows.view);
        if self.delta.is_empty() && !self.begun {
            return Ok(self.committed);
        }
        match self.write().and_then(|()| self.connection.say(COMMIT)) {
            Ok(()) => {
                self.committed.statements = self.connection.run() - self.run_before;
                Ok(self.committed)
            }
            Err(failed) if failed.statement == COMMIT && !failure::is_undone(&failed.source) => {
                Err(CommitFailure::Unknown(failed))
            }
            Err(failed) => {
                self.roll_back();
                Err(CommitFailure::Refused(failed))
            }
        }
    }

    /// Writes the decisions that are not written yet.
    fn write(&mut self) -> Result<(), FailedStatement> {
        if !self.begun {
            self.connection.say("BEGIN IMMEDIATE")?;
            self.begun = true;
        }
        let delta = std::mem::take(&mut self.delta);
        let fresh = std::mem::take(&mut self.fresh);
        write(self.connection, self.writer_cache, &delta, &fresh)
    }

    fn roll_back(&mut self) {
        if self.begun {
            // SQLite may have rolled back already, and then refuses a second rollback.
            let _ = self.connection.say("ROLLBACK");
        }
    }
}
