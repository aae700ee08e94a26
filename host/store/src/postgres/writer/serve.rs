//! Serves a batch: runs it until its outcome is known, on a connection opened if necessary, and
//! answers each submission.

use segno_core::{command::Command, footprint::Footprint, shard::DatabaseIndex, time::Millis};
use segno_env::Clock as _;

use super::{WriterState, batch_error::BatchError, submission::Submission};
use crate::{
    CommitMetrics,
    hints::CommitChanges,
    postgres::{
        append::AppendDecisions,
        batch::{
            BatchContext, CommitFailure, CommittedBatch, ConnectionSlot, DatabaseFailure,
            FootprintedCommand, WriteBatch,
        },
        claims::WriteStamp,
        connection_pool::RACES_TIMEOUT,
        failure::{FailedStatement, FailureClass},
        large_values,
    },
};

/// Time limit of a transaction, after which its connection is dropped.
const TRANSACTION_TIMEOUT: Millis = Millis(30_000);
/// Time after which a submission fails while the database is unavailable.
const AWAY_TIMEOUT: Millis = Millis(5_000);
/// The reason for which a submission to a shard fails while it is moved.
pub(in crate::postgres) const HALTED_SHARD: &str =
    "the shard of these rows is being moved to another database";
/// Time after which a submission fails while a database other than its home is unavailable.
/// Meanwhile it holds a place that others could use.
const APART_TIMEOUT: Millis = Millis(1_000);

impl WriterState {
    /// Commits a batch: first by appending under remembered claims; the remaining submissions by
    /// reading transactions.
    pub(super) async fn serve(
        &self,
        mut connections: Vec<ConnectionSlot>,
        batch: Vec<Submission>,
        waiting: usize,
    ) -> Vec<ConnectionSlot> {
        let own = &mut connections[self.home];
        if own.as_ref().is_some_and(|held| !held.is_current(&self.own().primary)) {
            *own = None;
        }
        let short = batch.iter().all(|each| each.claim.is_some());
        let left = if short { self.append(own, batch, waiting).await } else { batch };
        match left.is_empty() {
            true => connections,
            false => self.execute(connections, left, waiting).await,
        }
    }

    /// Appends for the submissions that depend on remembered claims alone. Returns the submissions
    /// that must be decided otherwise.
    async fn append(
        &self,
        slot: &mut ConnectionSlot,
        batch: Vec<Submission>,
        waiting: usize,
    ) -> Vec<Submission> {
        let began = self.env.clock.elapsed();
        let commands: Vec<&Command> = batch
            .iter()
            .flat_map(|each| &each.commands)
            .map(|commands| &commands.command)
            .collect();
        let own = self.own();
        let mut appends =
            AppendDecisions::decide(&own.claims, &commands, self.time.now(), &self.config);
        if appends.is_empty() {
            return batch;
        }
        let shards = self.databases.shards();
        if shards.moving.as_ref().is_some_and(|moves| moves.is_halted) {
            // An append to the shard would wait for the lock of its mover, and others with it.
            return batch;
        }
        let epoch = (!self.databases.is_single()).then_some(shards.epoch);
        let mut changes = CommitChanges::watched_by(&*self.hints);
        changes.add_ids(appends.ids());
        let appending = async {
            let held = match slot {
                Some(open) => open,
                None => slot.insert(own.connect().await?),
            };
            appends.commit(&mut held.connection, &own.settings.writer, &own.claims, epoch).await
        };
        let appended = match self.env.within(TRANSACTION_TIMEOUT, appending).await {
            Some(Ok(appended)) => appended,
            // The append may have happened; the next decision finds out.
            failed => {
                match failed.map(|failed| failed.map_err(|failed| failed.cause())) {
                    None => *slot = None,
                    Some(Err(cause @ (FailureClass::Away | FailureClass::ReadOnly))) => {
                        self.give_up(slot, self.home, cause)
                    }
                    Some(_) => {}
                }
                own.claims.forget(appends.ids());
                return batch;
            }
        };
        let (mut committed, mut served, mut left) =
            (CommittedBatch::default(), Vec::new(), Vec::new());
        (committed.statements, committed.wrote) = (1, true);
        committed.changes = changes;
        for (submission, appended) in batch.into_iter().zip(appended) {
            match appended {
                Some((reply, effects)) => {
                    committed.replies.push(vec![reply]);
                    committed.effects.extend(effects);
                    served.push(submission);
                }
                None => left.push(submission),
            }
        }
        if !served.is_empty() {
            own.availability.is_here(self.env.clock.now());
            let took = self.env.clock.elapsed().saturating_sub(began);
            self.hints.measured(&CommitMetrics { commands: served.len(), took, waiting });
            self.answer(served, committed);
        }
        left
    }

    /// Commits a batch. If one of its submissions makes the batch fail, commits its halves
    /// separately.
    async fn execute(
        &self,
        mut connections: Vec<ConnectionSlot>,
        mut batch: Vec<Submission>,
        waiting: usize,
    ) -> Vec<ConnectionSlot> {
        let began = self.env.clock.elapsed();
        let measured = |commands: usize| {
            let took = self.env.clock.elapsed().saturating_sub(began);
            self.hints.measured(&CommitMetrics { commands, took, waiting });
        };
        let commands: Vec<&[FootprintedCommand]> =
            batch.iter().map(|each| each.commands.as_slice()).collect();
        let is_local = batch.iter().any(|each| each.is_local);
        match self.commit(&mut connections, &commands, is_local).await {
            Ok(mut committed) => {
                let released = std::mem::take(&mut committed.released_chunks);
                self.drop_chunks(&mut connections[self.home], released).await;
                measured(batch.iter().map(|each| each.commands.len()).sum());
                self.answer(batch, committed);
            }
            // The tables refuse one of the submissions, or it needs a database that is away. It must
            // not fail the others: halve the batch until it is alone.
            Err(BatchError::Refused(_) | BatchError::ApartAway(_)) if batch.len() > 1 => {
                let others = batch.split_off(batch.len() / 2);
                connections = Box::pin(self.execute(connections, batch, waiting)).await;
                connections = Box::pin(self.execute(connections, others, waiting)).await;
            }
            Err(batch_error) => {
                for (submission, batch_error) in batch.into_iter().zip(batch_error.shares()) {
                    let _ = submission.answer.send(Err(batch_error.into()));
                }
            }
        }
        connections
    }

    /// Deletes the chunks of values that nothing uses any more. If it fails, a sweep finds them.
    async fn drop_chunks(&self, slot: &mut ConnectionSlot, released: Vec<Vec<u8>>) {
        let Some(held) = slot.as_mut().filter(|_| !released.is_empty()) else { return };
        let dropping =
            large_values::drop_unused(&mut held.connection, &self.own().settings.writer, released);
        match self.env.within(TRANSACTION_TIMEOUT, dropping).await {
            Some(Ok(())) => {}
            Some(Err(failed)) => {
                tracing::debug!(error = %failed.source, "unused chunks of values stay for now");
                *slot = None;
            }
            None => *slot = None,
        }
    }

    fn answer(&self, batch: Vec<Submission>, committed: CommittedBatch) {
        if committed.wrote {
            self.writing.committed();
        }
        self.written.send_modify(|written| {
            written.commits += u64::from(committed.wrote);
            written.commands += batch.iter().map(|each| each.commands.len() as u64).sum::<u64>();
            written.statements += committed.statements as u64;
        });
        for (submission, replies) in batch.into_iter().zip(committed.replies) {
            // The caller may be gone; the commit is valid regardless.
            let _ = submission.answer.send(Ok(replies));
        }
        self.hints.committed(&committed.effects, &committed.state);
        committed.changes.tell(&*self.hints);
        self.notifications.add(&committed.effects);
    }

    /// Decides and commits, with retries after lost races and while the database is unavailable.
    /// Commands are idempotent, so an earlier attempt may have been committed.
    async fn commit(
        &self,
        connections: &mut [ConnectionSlot],
        commands: &[&[FootprintedCommand]],
        is_local: bool,
    ) -> Result<CommittedBatch, BatchError> {
        let mut also = Footprint::default();
        let mut unknown = false;
        let (mut races, mut raced) = (0_u32, Millis::ZERO);
        let mut waited = Millis::ZERO;
        loop {
            let failed = match self.run_once(connections, commands, is_local, &also).await {
                Ok(committed) => {
                    self.own().availability.is_here(self.env.clock.now());
                    return Ok(committed);
                }
                Err(CommitFailure::LockFirst(first)) => {
                    also.merge(*first);
                    None
                }
                Err(CommitFailure::Overtaken) => None,
                Err(CommitFailure::NewMap(database)) => {
                    self.databases.renew_from(database).await;
                    None
                }
                Err(CommitFailure::NewLimits(names)) => {
                    self.databases.add_limits(&names).await.err()
                }
                Err(CommitFailure::Halted) if commands.len() > 1 || raced >= APART_TIMEOUT => {
                    return Err(BatchError::ApartAway(HALTED_SHARD.to_owned()));
                }
                Err(CommitFailure::Halted) => None,
                Err(CommitFailure::Unknown(failure)) => {
                    unknown = true;
                    Some(failure)
                }
                Err(CommitFailure::Failed(failure)) => match failure.failed.cause() {
                    FailureClass::Race => None,
                    FailureClass::Refused => return Err(BatchError::Refused(failure.failed)),
                    FailureClass::Away | FailureClass::ReadOnly => Some(failure),
                },
            };
            self.written.send_modify(|written| written.repeats += 1);
            let wait = match failed {
                None => {
                    races += 1;
                    if raced >= RACES_TIMEOUT {
                        return Err(BatchError::Conflict);
                    }
                    let pause = self.jitter(Millis(1 << races.min(6)));
                    raced = Millis(raced.0 + pause.0);
                    pause
                }
                Some(DatabaseFailure { database, failed }) => {
                    self.give_up(&mut connections[database], database, failed.cause());
                    let (of, now) = (self.databases.at(database), self.env.clock.now());
                    of.availability.is_away(now, &failed);
                    let reason = failed.source.to_string();
                    if database == self.home {
                        self.writing.failed(&failed);
                    } else if !unknown
                        && (commands.len() > 1
                            || waited.max(of.availability.away_for(now)) >= APART_TIMEOUT)
                    {
                        return Err(BatchError::ApartAway(reason));
                    }
                    if waited >= AWAY_TIMEOUT {
                        return Err(if unknown {
                            BatchError::Unknown(reason)
                        } else {
                            BatchError::Away(reason)
                        });
                    }
                    self.jitter(Millis((50 + waited.0).min(1_000)))
                }
            };
            self.env.runtime.sleep(wait).await;
            waited = Millis(waited.0 + wait.0);
        }
    }

    async fn run_once(
        &self,
        connections: &mut [ConnectionSlot],
        commands: &[&[FootprintedCommand]],
        is_local: bool,
        also: &Footprint,
    ) -> Result<CommittedBatch, CommitFailure> {
        let changes = CommitChanges::watched_by(&*self.hints);
        let context = BatchContext {
            config: &self.config,
            time: &self.time,
            databases: &self.databases,
            numbers: &self.numbers,
            home: self.home,
            is_local,
            stamp: WriteStamp(self.env.runtime.nonce().cast_signed()),
            nonce: self.env.runtime.nonce(),
        };
        let running = WriteBatch::new(context, connections, changes).run(commands, also);
        let done = self.env.within(TRANSACTION_TIMEOUT, running).await;
        let Some(done) = done else {
            // The state of the transactions is unknown, their commit included.
            connections.fill_with(|| None);
            let source = sqlx::Error::Protocol("the database did not answer in time".to_owned());
            let failed = FailedStatement { statement: "a transaction", source: source.into() };
            let failure = DatabaseFailure { database: self.home, failed };
            return Err(CommitFailure::Unknown(failure));
        };
        done
    }

    /// Drops a connection, and all connections of its epoch if its server is read-only.
    fn give_up(&self, slot: &mut ConnectionSlot, database: DatabaseIndex, cause: FailureClass) {
        if let Some(held) = slot.take()
            && cause == FailureClass::ReadOnly
        {
            self.databases.at(database).primary.refused_writes(held.epoch);
        }
    }

    /// A random delay between half of `wait` and all of it, so that competing transactions
    /// separate.
    fn jitter(&self, wait: Millis) -> Millis {
        let drawn = self.env.runtime.nonce() % 1_000;
        Millis(wait.0 / 2 + (wait.0 * drawn.cast_signed()) / 2_000)
    }
}
