//! What every execution of one worker shares.

use std::sync::Arc;

use segno_core::{
    command::{Command, Hold},
    id::{Holder, PromiseId},
    reply::Reply,
    time::Timestamp,
};
use tokio_util::sync::CancellationToken;

use super::{
    birth::Births,
    claims::Claims,
    convention,
    failure::{ExecutionError, HaltReport},
    log_span,
    put_off::PutOff,
    run_limiter::RunLimiter,
    warm::WarmCache,
};
use crate::{host::Host, lease_ttl::AdaptiveLeaseTtl};
use segno_guest::Outcome;
use segno_store::{PromiseRow, StoreError};

/// See the module.
pub struct Shared {
    /// The host.
    pub host: Host,
    /// Whom the claims belong to.
    pub holder: Holder,
    /// Those held now.
    pub claims: Claims,
    /// Suspended instances.
    pub warm: WarmCache,
    /// Cancelled when the host is about to stop: nothing new is begun, and nobody waits.
    pub draining: CancellationToken,
    /// How long leases are.
    pub lease_ttl: Arc<AdaptiveLeaseTtl>,
    /// Cancelled when another host has begun a life under this one's name.
    pub superseded: CancellationToken,
    /// The version at which tasks are born.
    pub births: Births,
    /// How many executions are under way.
    pub run_limiter: RunLimiter,
    /// When those come again that compute for long.
    pub put_off: PutOff,
}

impl Shared {
    /// The present.
    pub fn now(&self) -> Timestamp {
        self.host.env.clock.now()
    }

    /// Whether the host is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// What a claim of this worker is made with.
    pub fn hold(&self) -> Hold {
        Hold {
            holder: self.holder.clone(),
            nonce: self.host.env.runtime.nonce(),
            ttl: self.lease_ttl.ttl(),
        }
    }

    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command absorbs its own
    /// repetition.
    pub async fn submit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, ExecutionError> {
        self.claims.note(&commands);
        let commands = commands.into();
        match self.host.insist(&commands).await {
            Ok(replies) => {
                self.note(&commands, &replies);
                Ok(replies)
            }
            Err(StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. }) => {
                Err(ExecutionError::Lost)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Counts what became durable, and says what guests logged.
    pub fn note(&self, commands: &[Command], replies: &[Reply]) {
        let metrics = &self.host.notifier.metrics().worker;
        for (command, reply) in commands.iter().zip(replies) {
            let (Command::TaskFence { claim, records, logs, .. }
            | Command::TaskSuspend { claim, records, logs, .. }
            | Command::TaskFulfill { claim, records, logs, .. }) = command
            else {
                continue;
            };
            if matches!(reply, Reply::Refused(_)) {
                continue;
            }
            metrics.processed(records.len());
            if let (Command::TaskFulfill { .. }, Some(last)) = (command, records.last()) {
                metrics.finished(last.seq + 1);
            }
            for line in logs {
                log_span::line(&claim.id, line);
            }
        }
    }

    /// Shows how much is kept warm.
    pub fn show_warm(&self) {
        let (instances, bytes) = self.warm.size();
        self.host.notifier.metrics().gauges.warm(instances, bytes);
    }

    /// Several promises.
    pub async fn promises(
        &self,
        ids: &[PromiseId],
    ) -> Result<Vec<Option<PromiseRow>>, ExecutionError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.host.store.promises(ids).await?)
    }

    /// An outcome that the journal left in its promise.
    pub async fn own(&self, id: &PromiseId) -> Result<Outcome, ExecutionError> {
        let row = self.host.store.promise(id).await?;
        let settlement = row.as_ref().and_then(|row| row.promise.settlement());
        match settlement {
            Some(settlement) => Ok(convention::outcome(settlement)),
            None => Err(HaltReport::new(
                "damaged",
                format!("the journal refers to the value of `{id}`, which has none"),
            )
            .into()),
        }
    }
}
