//! What every execution of one worker shares.

use std::sync::Arc;

use segno_core::{
    command::{Command, Hold},
    id::{Holder, PromiseId},
    invocation::Record,
    reply::Reply,
    time::{Millis, Timestamp},
};
use tokio_util::sync::CancellationToken;

use super::{
    claims::Claims,
    convention,
    failure::{Halt, Stopped},
    says,
    warm::WarmCache,
};
use crate::{
    guest::Outcome,
    host::Host,
    lengths::LeaseLengths,
    store::{PromiseRow, StoreError},
};

/// Records read at a time.
const JOURNAL_PAGE: u32 = 10_000;
/// How long a command with an unknown outcome is sent again before the lease is left to run out.
const RESEND_ATTEMPTS: u32 = 20;

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
        let mut wait = Millis(10);
        for _ in 0..RESEND_ATTEMPTS {
            match self.host.store.execute(commands.clone()).await {
                Ok(replies) => {
                    self.note(&commands, &replies);
                    return Ok(replies);
                }
                Err(
                    StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. },
                ) => {
                    self.host.surroundings.runtime.sleep(wait).await;
                    wait = Millis((wait.0 * 2).min(1_000));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Stopped::Lost)
    }

    /// Counts what became durable, and says what guests logged.
    fn note(&self, commands: &[Command], replies: &[Reply]) {
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

    /// The whole journal, which is `len` records long: under a claim it only grows by the claim itself.
    pub async fn journal(&self, id: &PromiseId, len: u32) -> Result<Vec<Record>, Stopped> {
        let mut records = Vec::with_capacity(len as usize);
        while (records.len() as u32) < len {
            let from = records.len() as u32;
            let page = self.host.store.journal(id, from, JOURNAL_PAGE.min(len - from)).await?;
            if page.is_empty() {
                return Err(Halt::new(
                    "damaged",
                    format!("the journal ends at record {from} of {len}"),
                )
                .into());
            }
            records.extend(page);
        }
        Ok(records)
    }

    /// Several promises.
    pub async fn promises(&self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, Stopped> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.host.store.promises(ids).await?)
    }

    /// An outcome that the journal left in its promise.
    pub async fn own(&self, id: &PromiseId) -> Result<Outcome, Stopped> {
        let row = self.host.store.promise(id).await?;
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
