//! Serves a batch: runs it until its outcome is known, on a connection opened if necessary, and
//! answers each submission.

use segno_core::{command::Command, footprint::Footprint, time::Millis};
use segno_env::Clock as _;

use super::{ConnectionSlot, WriterState, batch_error::BatchError, submission::Submission};
use crate::{
    CommitMetrics,
    hints::CommitChanges,
    postgres::{
        append::AppendDecisions,
        batch::{CommitFailure, CommittedBatch, FootprintedCommand, WriteBatch},
        claims::WriteStamp,
        connection_pool::RACES_TIMEOUT,
        failure::{FailedStatement, FailureClass},
        held::PrimaryConnection,
        large_values,
        transaction::SessionTransaction,
    },
};

/// Time limit of a transaction, after which its connection is dropped.
const TRANSACTION_TIMEOUT: Millis = Millis(30_000);
/// Time after which a submission fails while the database is unavailable.
const AWAY_TIMEOUT: Millis = Millis(5_000);

impl WriterState {
    /// Commits a batch: first by appending under remembered claims; the remaining submissions by
    /// reading transactions.
    pub(super) async fn serve(
        &self,
        mut slot: ConnectionSlot,
        batch: Vec<Submission>,
        waiting: usize,
    ) -> ConnectionSlot {
        if slot.as_ref().is_some_and(|held| !held.is_current(&self.primary)) {
            slot = None;
        }
        let short = batch.iter().all(|each| each.claim.is_some());
        let left = if short { self.append(&mut slot, batch, waiting).await } else { batch };
        if left.is_empty() { slot } else { self.execute(slot, left, waiting).await }
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
        let mut appends =
            AppendDecisions::decide(&self.claims, &commands, self.time.now(), &self.config);
        if appends.is_empty() {
            return batch;
        }
        let mut changes = CommitChanges::watched_by(&*self.hints);
        changes.add_ids(appends.ids());
        let appending = async {
            let held = match slot {
                Some(open) => open,
                None => slot.insert(self.connect().await?),
            };
            appends.commit(&mut held.connection, &self.settings, &self.claims).await
        };
        let appended = match self.env.within(TRANSACTION_TIMEOUT, appending).await {
            Some(Ok(appended)) => appended,
            // The append may have happened; the next decision finds out.
            failed => {
                match failed.map(|failed| failed.map_err(|failed| failed.cause())) {
                    None => *slot = None,
                    Some(Err(cause @ (FailureClass::Away | FailureClass::ReadOnly))) => {
                        self.give_up(slot, cause)
                    }
                    Some(_) => {}
                }
                self.claims.forget(appends.ids());
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
            self.availability.is_here(self.env.clock.now());
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
        mut slot: ConnectionSlot,
        mut batch: Vec<Submission>,
        waiting: usize,
    ) -> ConnectionSlot {
        let began = self.env.clock.elapsed();
        let measured = |commands: usize| {
            let took = self.env.clock.elapsed().saturating_sub(began);
            self.hints.measured(&CommitMetrics { commands, took, waiting });
        };
        let commands: Vec<&[FootprintedCommand]> =
            batch.iter().map(|each| each.commands.as_slice()).collect();
        match self.commit(&mut slot, &commands).await {
            Ok(mut committed) => {
                let released = std::mem::take(&mut committed.released_chunks);
                self.drop_chunks(&mut slot, released).await;
                measured(batch.iter().map(|each| each.commands.len()).sum());
                self.answer(batch, committed);
            }
            // The tables refuse one of the submissions, which must not fail the others: halve the
            // batch until it is alone.
            Err(BatchError::Refused(_)) if batch.len() > 1 => {
                let others = batch.split_off(batch.len() / 2);
                slot = Box::pin(self.execute(slot, batch, waiting)).await;
                slot = Box::pin(self.execute(slot, others, waiting)).await;
            }
            Err(batch_error) => {
                for (submission, batch_error) in batch.into_iter().zip(batch_error.shares()) {
                    let _ = submission.answer.send(Err(batch_error.into()));
                }
            }
        }
        slot
    }

    /// Deletes the chunks of values that nothing uses any more. If it fails, a sweep finds them.
    async fn drop_chunks(&self, slot: &mut ConnectionSlot, released: Vec<Vec<u8>>) {
        let Some(held) = slot.as_mut().filter(|_| !released.is_empty()) else { return };
        let dropping = large_values::drop_unused(&mut held.connection, &self.settings, released);
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
        slot: &mut ConnectionSlot,
        commands: &[&[FootprintedCommand]],
    ) -> Result<CommittedBatch, BatchError> {
        let mut also = Footprint::default();
        let mut unknown = false;
        let (mut races, mut raced) = (0_u32, Millis::ZERO);
        let mut waited = Millis::ZERO;
        loop {
            let failed = match self.run_once(slot, commands, &also).await {
                Ok(committed) => {
                    self.availability.is_here(self.env.clock.now());
                    return Ok(committed);
                }
                Err(CommitFailure::LockFirst(first)) => {
                    also.merge(*first);
                    None
                }
                Err(CommitFailure::Overtaken) => None,
                Err(CommitFailure::Unknown(failed)) => {
                    unknown = true;
                    Some(failed)
                }
                Err(CommitFailure::Failed(failed)) => match failed.cause() {
                    FailureClass::Race => None,
                    FailureClass::Refused => return Err(BatchError::Refused(failed)),
                    FailureClass::Away | FailureClass::ReadOnly => Some(failed),
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
                Some(failed) => {
                    self.give_up(slot, failed.cause());
                    self.writing.failed(&failed);
                    self.availability.is_away(self.env.clock.now(), &failed);
                    if waited >= AWAY_TIMEOUT {
                        let reason = failed.source.to_string();
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
        slot: &mut ConnectionSlot,
        commands: &[&[FootprintedCommand]],
        also: &Footprint,
    ) -> Result<CommittedBatch, CommitFailure> {
        let held = match slot {
            Some(open) => open,
            None => slot.insert(self.connect().await?),
        };
        let connection = &mut held.connection;
        let changes = CommitChanges::watched_by(&*self.hints);
        let stamp = WriteStamp(self.env.runtime.nonce().cast_signed());
        let running = async {
            let begun = SessionTransaction::begin(connection, &self.settings).await;
            let transaction = begun.map_err(FailedStatement::of("BEGIN"))?;
            let (config, time, claims) = (&self.config, &self.time, &self.claims);
            let batch = WriteBatch::new(transaction, config, time, claims, stamp, changes);
            batch.run(commands, also).await
        };
        let done = self.env.within(TRANSACTION_TIMEOUT, running).await;
        // The state of the transaction is unknown, its commit included.
        let late = || FailedStatement {
            statement: "a transaction",
            source: sqlx::Error::Protocol("the database did not answer in time".to_owned()).into(),
        };
        done.unwrap_or_else(|| Err(CommitFailure::Unknown(late())))
    }

    async fn connect(&self) -> Result<PrimaryConnection, FailedStatement> {
        let held = PrimaryConnection::open(&self.settings, &self.primary).await;
        held.map_err(FailedStatement::of("connect"))
    }

    /// Drops a connection, and all connections of its epoch if its server is read-only.
    fn give_up(&self, slot: &mut ConnectionSlot, cause: FailureClass) {
        if let Some(held) = slot.take()
            && cause == FailureClass::ReadOnly
        {
            self.primary.refused_writes(held.epoch);
        }
    }

    /// A random delay between half of `wait` and all of it, so that competing transactions
    /// separate.
    fn jitter(&self, wait: Millis) -> Millis {
        let drawn = self.env.runtime.nonce() % 1_000;
        Millis(wait.0 / 2 + (wait.0 * drawn.cast_signed()) / 2_000)
    }
}
