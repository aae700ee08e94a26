//! The state that all executions of one worker share.

use std::sync::Arc;

use segno_core::{
    command::{ClaimRequest, Command},
    id::{Holder, PromiseId},
    invocation::{LogLine, Record},
    reply::{HeartbeatResult, Reply},
    time::{Millis, Timestamp},
};
use segno_store::{PromiseRow, StoreError};
use tokio_util::sync::CancellationToken;

use super::{
    graph_run::RunCache, log_span, put_off::DeferredRetries, run_limiter::RunLimiter,
    snapshot::SnapshotMaker, task_versions::TaskVersions, warm::WarmCache,
};
use crate::{
    claim::{ActiveClaim, ActiveClaims, ExecutionError, LocalCallers},
    host::Host,
    lease_ttl::AdaptiveLeaseTtl,
    notifier::SettlementNotice,
    resend::{ResendPolicy, SentCommands, UNDER_CLAIMS},
};

/// The duration from which on an attempt is not short.
const NOT_SHORT: Millis = Millis(100);

/// The shared parts of a worker.
pub(crate) struct WorkerContext {
    pub host: Host,
    /// The holder of all claims.
    pub holder: Holder,
    /// The claims that the worker holds now.
    pub claims: ActiveClaims,
    /// The executions that take outcomes of their calls.
    pub callers: Arc<LocalCallers>,
    /// The cache of suspended instances.
    pub warm: WarmCache,
    /// The cache of coordinators of suspended graph runs.
    pub runs: RunCache,
    /// Cancelled when the host shuts down. No execution begins after that, and none waits.
    pub draining: CancellationToken,
    /// The duration of leases.
    pub lease_ttl: Arc<AdaptiveLeaseTtl>,
    /// Cancelled when another host begins an incarnation under this node's name.
    pub superseded: CancellationToken,
    /// The version at which new tasks begin.
    pub task_versions: TaskVersions,
    /// True if invocations run before they are stored.
    pub speculative_starts: bool,
    /// Limits the number of executions that run concurrently.
    pub run_limiter: RunLimiter,
    /// Schedules retries of executions rejected because too many others are computing.
    pub put_off: DeferredRetries,
    /// The state of snapshot making: the last snapshots, the refused modules, and a running
    /// attempt.
    pub snapshots: SnapshotMaker,
}

impl WorkerContext {
    pub(crate) fn now(&self) -> Timestamp {
        self.host.env.clock.now()
    }

    /// True if the host is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// The parameters of a claim of this worker.
    pub(crate) fn claim_request(&self) -> ClaimRequest {
        ClaimRequest {
            holder: self.holder.clone(),
            nonce: self.host.env.runtime.nonce(),
            ttl: self.lease_ttl.ttl(),
        }
    }

    /// Commits `commands` together. They are sent again after lost races and unknown outcomes,
    /// since every command is idempotent.
    pub(crate) async fn submit(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, ExecutionError> {
        self.submit_as(commands, UNDER_CLAIMS).await.map_err(|error| match error {
            StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. } => {
                ExecutionError::Lost
            }
            error => error.into(),
        })
    }

    /// Commits `commands` together, and sends them again according to `resend`.
    pub(super) async fn submit_as(
        &self,
        commands: Vec<Command>,
        resend: ResendPolicy,
    ) -> Result<Vec<Reply>, StoreError> {
        self.claims.note(&commands);
        let commands: Arc<[Command]> = commands.into();
        let SentCommands { replies, .. } = self.host.send(commands.clone(), resend).await?;
        self.note(&commands, &replies);
        Ok(replies)
    }

    /// Counts records that became durable, writes the log lines of guests, and notifies executions
    /// of cancellation requests.
    pub(crate) fn note(&self, commands: &[Command], replies: &[Reply]) {
        for (command, reply) in commands.iter().zip(replies) {
            let (Command::TaskFence { claim, records, logs, .. }
            | Command::TaskSuspend { claim, records, logs, .. }
            | Command::TaskFulfill { claim, records, logs, .. }
            | Command::TaskHandOver { claim, records, logs, .. }) = command
            else {
                continue;
            };
            match reply {
                Reply::Refused(_) => continue,
                Reply::Fenced { cancelled: true, .. } => self.claims.request_cancel(&claim.id),
                Reply::Ready { cancelled: true, .. } => {
                    self.claims.request_cancel(&claim.id);
                    // The records of a refused end were not stored.
                    if !matches!(command, Command::TaskSuspend { .. }) {
                        continue;
                    }
                }
                _ => {}
            }
            let ends =
                matches!(command, Command::TaskFulfill { .. } | Command::TaskHandOver { .. });
            self.note_appended(records, logs, ends);
        }
    }

    /// Counts records that became durable, and writes the log lines of a guest. `ends`: the records
    /// are the last ones of their journal.
    pub(crate) fn note_appended(&self, records: &[Record], logs: &[LogLine], ends: bool) {
        let metrics = &self.host.metrics.worker;
        metrics.processed(records.len());
        if let (true, Some(last)) = (ends, records.last()) {
            metrics.finished(last.seq + 1);
        }
        for line in logs {
            log_span::line(line);
        }
    }

    /// Records that an attempt under this claim begins. A claim lost from now on counts as lost
    /// during an attempt. If the number of attempts is limited, this is durable before the attempt
    /// can have an effect. Otherwise it is stored only if the attempt is not short, so that short
    /// ones cost nothing.
    ///
    /// # Errors
    /// The claim is lost, or the store did not answer: the attempt must not begin.
    pub(crate) async fn begin_attempt(
        self: &Arc<Self>,
        active: &Arc<ActiveClaim>,
        is_bounded: bool,
    ) -> Result<(), ExecutionError> {
        active.advance(1);
        if is_bounded {
            return self.store_progress(active).await;
        }
        let (worker, active) = (self.clone(), active.clone());
        let later = async move {
            worker.host.env.runtime.sleep(NOT_SHORT).await;
            if worker.claims.runs(&active)
                && let Err(error) = worker.store_progress(&active).await
            {
                tracing::debug!(?error, "the beginning of an attempt was not stored");
            }
        };
        self.host.env.runtime.spawn("attempt begun", Box::pin(later));
        Ok(())
    }

    async fn store_progress(&self, active: &ActiveClaim) -> Result<(), ExecutionError> {
        let (holder, items) = (self.holder.clone(), vec![active.item()]);
        let replies = self.submit(vec![Command::TaskHeartbeat { holder, items }]).await?;
        match replies.first() {
            Some(Reply::Heartbeat(beats))
                if matches!(beats[..], [HeartbeatResult::Extended { .. }]) =>
            {
                Ok(())
            }
            _ => Err(ExecutionError::Lost),
        }
    }

    /// Updates the metrics of warm instances.
    pub(crate) fn show_warm(&self) {
        let (instances, bytes) = self.warm.size();
        self.host.metrics.gauges.warm(instances, bytes);
    }

    /// Reads several promises from the store.
    pub(crate) async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, ExecutionError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.host.store.read().promises(ids).await?)
    }

    /// The rows of settled promises, in order. Reads those that the notices do not contain.
    pub(crate) async fn settled(
        &self,
        notices: Vec<SettlementNotice>,
    ) -> Result<Vec<Arc<PromiseRow>>, ExecutionError> {
        let unread = notices.iter().filter(|notice| notice.row.is_none());
        let unread: Vec<PromiseId> = unread.map(|notice| notice.id.clone()).collect();
        let mut read = self.promises(&unread).await?.into_iter();
        let rows = notices
            .into_iter()
            .filter_map(|notice| notice.row.or_else(|| read.next().flatten().map(Arc::new)));
        Ok(rows.collect())
    }
}
