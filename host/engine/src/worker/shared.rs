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
    concurrency::Concurrency,
    convention,
    failure::{Halt, Stopped},
    put_off::PutOff,
    says,
    warm::WarmCache,
};
use crate::{host::Host, lengths::LeaseLengths};
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
    pub lengths: Arc<LeaseLengths>,
    /// Cancelled when another host has begun a life under this one's name.
    pub superseded: CancellationToken,
    /// The version at which tasks are born.
    pub births: Births,
    /// How many executions are under way.
    pub concurrency: Concurrency,
    /// When those come again that compute for long.
    pub put_off: PutOff,
}

impl Shared {
    /// The present.
    pub fn now(&self) -> Timestamp {
        self.host.surroundings.clock.now()
    }

    /// Whether the host is about to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// What a claim of this worker is made with.
    pub fn hold(&self) -> Hold {
        Hold {
            holder: self.holder.clone(),
            nonce: self.host.surroundings.runtime.nonce(),
            ttl: self.lengths.ttl(),
        }
    }

    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command absorbs its own
    /// repetition.
    pub async fn submit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, Stopped> {
        self.claims.note(&commands);
        let commands = commands.into();
        match self.host.insist(&commands).await {
            Ok(replies) => {
                self.note(&commands, &replies);
                Ok(replies)
            }
            Err(StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. }) => {
                Err(Stopped::Lost)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Counts what became durable, and says what guests logged.
    pub fn note(&self, commands: &[Command], replies: &[Reply]) {
        let metrics = &self.host.hub.metrics().worker;
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
                says::line(&claim.id, line);
            }
        }
    }

    /// Shows how much is kept warm.
    pub fn show_warm(&self) {
        let (instances, bytes) = self.warm.size();
        self.host.hub.metrics().gauges.warm(instances, bytes);
    }

    /// Several promises.
    pub async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, Stopped> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.host.store.read().promises(ids).await?)
    }

    /// An outcome that the journal left in its promise.
    pub async fn own(&self, id: &PromiseId) -> Result<Outcome, Stopped> {
        let row = self.host.store.read().promise(id).await?;
        let settlement = row.as_ref().and_then(|row| row.promise.settlement());
        match settlement {
            Some(settlement) => Ok(convention::outcome(settlement)),
            None => Err(Halt::new(
                "damaged",
                format!("the journal refers to the value of `{id}`, which has none"),
            )
            .into()),
        }
    }
}
