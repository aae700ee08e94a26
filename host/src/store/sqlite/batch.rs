//! One transaction: decides commands on the state in memory, writes what they change, commits.

use std::collections::BTreeSet;

use segno_core::{
    command::Command, config::Config, delta::Delta, effect::Effect, footprint,
    footprint::Footprint, id::PromiseId, reply::Reply, time::Timestamp, transition::transition,
    widen,
};
use sqlx::SqliteConnection;

use super::{
    failure, load,
    statement::{Failed, Script},
    write::{remove, write},
    writer::Submission,
};
use crate::store::sql::Cache;

const COMMIT: &str = "COMMIT";
/// A command's rows are known after so many looks: its own, what these lead to, and who waits for that.
const LOOKS: usize = 5;

/// What a committed batch answers: the replies of each submission, and all hints in order.
#[derive(Debug, Default)]
pub(super) struct Committed {
    pub(super) replies: Vec<Vec<Reply>>,
    pub(super) effects: Vec<Effect>,
    /// Statements that were sent to write it.
    pub(super) statements: usize,
    /// How often rows had to be read for it.
    pub(super) loads: usize,
}

/// Why a batch was not committed. The cache has to be cleared.
#[derive(Debug)]
pub(super) enum NotCommitted {
    /// Nothing was written.
    Refused(Failed),
    /// Nobody knows.
    Unknown(Failed),
    /// The disk failed earlier: nothing was written.
    Stopped,
}

/// A transaction in the making.
pub(super) struct Batch<'a> {
    connection: &'a mut SqliteConnection,
    cache: &'a mut Cache,
    config: &'a Config,
    now: Timestamp,
    delta: Delta,
    fresh: BTreeSet<PromiseId>,
    begun: bool,
    committed: Committed,
}

impl<'a> Batch<'a> {
    /// A batch at `now` that nothing was decided in yet.
    pub(super) fn new(
        connection: &'a mut SqliteConnection,
        cache: &'a mut Cache,
        config: &'a Config,
        now: Timestamp,
    ) -> Self {
        Self {
            connection,
            cache,
            config,
            now,
            delta: Delta::default(),
            fresh: BTreeSet::new(),
            begun: false,
            committed: Committed::default(),
        }
    }

    /// Decides all of these, one after the other, and commits them together.
    pub(super) async fn run(
        mut self,
        submissions: &[Submission],
    ) -> Result<Committed, NotCommitted> {
        match self.decide_all(submissions).await {
            Ok(()) => self.commit().await,
            Err(failed) => {
                self.roll_back().await;
                Err(NotCommitted::Refused(failed))
            }
        }
    }

    async fn decide_all(&mut self, submissions: &[Submission]) -> Result<(), Failed> {
        // For all commands at once; most batches then need nothing more.
        let mut wanted = Footprint::default();
        for command in submissions.iter().flat_map(|submission| &submission.commands) {
            wanted.merge(footprint(command));
        }
        // What belongs to a tree is seen when its turn comes: the commands before may add to it.
        wanted.trees.clear();
        self.load(wanted).await?;
        let mut wanted = Footprint::default();
        for command in submissions.iter().flat_map(|submission| &submission.commands) {
            wanted.merge(widen(&self.cache.state, command));
        }
        self.load(wanted).await?;
        for Submission { commands, .. } in submissions {
            let mut replies = Vec::with_capacity(commands.len());
            for command in commands {
                replies.push(self.decide(command).await?);
            }
            self.committed.replies.push(replies);
        }
        Ok(())
    }

    async fn decide(&mut self, command: &Command) -> Result<Reply, Failed> {
        let trees = footprint(command).trees;
        if !trees.is_empty() {
            self.load(Footprint { trees, ..Footprint::default() }).await?;
        }
        for _ in 0..LOOKS {
            let mut wanted = footprint(command);
            wanted.trees.clear();
            wanted.merge(widen(&self.cache.state, command));
            if !self.load(wanted).await? {
                break;
            }
        }
        let decision = transition(&self.cache.state, command, self.now, self.config);
        if decision.delta.removed.is_empty() {
            self.fresh.extend(self.cache.apply(&decision.delta));
            self.delta.merge(decision.delta);
        } else {
            self.remove(&decision.delta).await?;
        }
        self.committed.effects.extend(decision.effects);
        Ok(decision.reply)
    }

    /// Writes a decision that removes promises at once: their numbers are gone with them.
    async fn remove(&mut self, delta: &Delta) -> Result<(), Failed> {
        let mut script = Script::default();
        self.write(&mut script);
        remove(&mut script, self.cache, &delta.removed);
        self.send(script).await?;
        self.cache.apply(delta);
        Ok(())
    }

    /// Loads what is not held. Whether there was anything.
    async fn load(&mut self, wanted: Footprint) -> Result<bool, Failed> {
        let missing = self.cache.missing(wanted);
        if missing.is_empty() {
            return Ok(false);
        }
        // What was decided so far must be in the tables before they are read again.
        if !self.delta.is_empty() {
            let mut script = Script::default();
            self.write(&mut script);
            self.send(script).await?;
        }
        self.committed.loads += 1;
        load::load(self.connection, self.cache, missing).await?;
        Ok(true)
    }

    async fn commit(mut self) -> Result<Committed, NotCommitted> {
        if self.delta.is_empty() && !self.begun {
            return Ok(self.committed);
        }
        let mut script = Script::default();
        if !self.delta.is_empty() {
            self.write(&mut script);
        }
        script.say(COMMIT);
        match self.send(script).await {
            Ok(()) => Ok(self.committed),
            Err(failed) if failed.statement == COMMIT && !failure::is_undone(&failed.source) => {
                Err(NotCommitted::Unknown(failed))
            }
            Err(failed) => {
                self.roll_back().await;
                Err(NotCommitted::Refused(failed))
            }
        }
    }

    /// Adds the statements for what is decided and not written.
    fn write(&mut self, script: &mut Script) {
        if !self.begun {
            script.say("BEGIN IMMEDIATE");
            self.begun = true;
        }
        let delta = std::mem::take(&mut self.delta);
        let fresh = std::mem::take(&mut self.fresh);
        write(script, self.cache, &delta, &fresh);
    }

    async fn send(&mut self, script: Script) -> Result<(), Failed> {
        self.committed.statements += script.len();
        script.run(self.connection).await
    }

    async fn roll_back(&mut self) {
        if self.begun {
            let mut script = Script::default();
            script.say("ROLLBACK");
            // SQLite may have rolled back by itself, and refuses to do it twice.
            let _ = script.run(self.connection).await;
        }
    }
}
