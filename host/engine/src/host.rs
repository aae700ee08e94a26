//! The parts of a running host, as the API, the worker and the recovery driver share them.

use std::sync::{Arc, OnceLock, Weak};

use segno_core::{command::Command, config::Config, reply::Reply, time::Millis};
use segno_env::Env;
use segno_guest::{Guests, Outbound};
use segno_store::{Store, StoreError};

use crate::{
    commit_latency::CommitLatency, delivery::Channels, metrics::Metrics, notifier::CommitNotifier,
    quarantine::Quarantine, slots::ExecutionSlots, traces::Traces,
};

/// Cheap to clone: all clones share the same parts.
#[derive(Clone)]
pub struct Host {
    /// Clock, runtime and random numbers.
    pub env: Env,
    /// The engine's settings.
    pub config: Arc<Config>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Loads and runs modules.
    pub guests: Arc<dyn Guests>,
    /// Sends the HTTP requests of guests.
    pub outbound: Arc<dyn Outbound>,
    /// Receives the effects of commits.
    pub notifier: Arc<CommitNotifier>,
    /// The metrics of this host.
    pub metrics: Arc<Metrics>,
    /// The measure of recent commits.
    pub commit_latency: Arc<CommitLatency>,
    /// The channels that deliver messages.
    pub channels: Arc<Channels>,
    /// Rows that this host leaves alone for a while, because handling them failed.
    pub quarantine: Arc<Quarantine>,
    /// The receiver of spans; see [`Host::traces`].
    pub traces: Arc<OnceLock<Traces>>,
    /// The worker's slots; see [`Host::slots`].
    pub slots: Arc<OnceLock<Weak<ExecutionSlots>>>,
}

/// How often a command with an unknown outcome is sent again before its lease is left to run out.
const RESEND_ATTEMPTS: u32 = 20;

/// How often a command is sent for a client that waits for the reply.
const ATTEMPTS: u32 = 3;

impl Host {
    /// A host of these parts. The store gives the effects of its commits to `notifier`, which
    /// counts and traces them.
    pub fn new(
        env: Env,
        config: Config,
        store: Arc<dyn Store>,
        guests: Arc<dyn Guests>,
        outbound: Arc<dyn Outbound>,
        notifier: Arc<CommitNotifier>,
    ) -> Self {
        Self {
            env,
            config: Arc::new(config),
            store,
            guests,
            outbound,
            metrics: notifier.metrics.clone(),
            commit_latency: notifier.commit_latency.clone(),
            channels: notifier.channels.clone(),
            quarantine: Arc::default(),
            traces: notifier.traces.clone(),
            slots: Arc::default(),
            notifier,
        }
    }

    /// The slots of this host's worker, if it has one that runs.
    pub fn slots(&self) -> Option<Arc<ExecutionSlots>> {
        self.slots.get()?.upgrade()
    }

    /// Makes the slots of this host's worker available to callers that start invocations. A host
    /// has one worker.
    pub fn open_slots(&self, slots: &Arc<ExecutionSlots>) {
        let _ = self.slots.set(Arc::downgrade(slots));
    }

    /// The receiver of the spans of finished invocations, if they are traced.
    pub fn traces(&self) -> Option<&Traces> {
        self.traces.get()
    }

    /// Sets the receiver of spans. The first one set stays.
    pub fn trace(&self, traces: Traces) {
        let _ = self.traces.set(traces);
    }

    /// Commits one command for a client that waits for the reply. Lost races and unknown outcomes
    /// are sent again at once, `ATTEMPTS` times at most.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was written, or it is still unknown.
    pub async fn attempt(&self, command: Command) -> Result<Reply, StoreError> {
        let mut attempt = 1;
        loop {
            match self.store.execute(vec![command.clone()]).await {
                Ok(mut replies) => {
                    return replies.pop().ok_or_else(|| StoreError::Unavailable {
                        reason: "the store did not answer a command".to_owned(),
                    });
                }
                // Every command absorbs its repetition; a signal does so by its key, which it
                // always has.
                Err(StoreError::Conflict | StoreError::UnknownOutcome(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Commits `commands` together. Lost races and unknown outcomes are sent again: every command
    /// absorbs its own repetition.
    ///
    /// # Errors
    /// [`StoreError`]: nothing was written, or it is still unknown after many attempts.
    pub async fn insist(&self, commands: &Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        let mut wait = Millis(10);
        for _ in 1..RESEND_ATTEMPTS {
            match self.store.execute_kept(commands.clone()).await {
                Err(
                    StoreError::Conflict | StoreError::UnknownOutcome(_) | StoreError::Away { .. },
                ) => {
                    self.env.runtime.sleep(wait).await;
                    wait = Millis((wait.0 * 2).min(1_000));
                }
                answer => return answer,
            }
        }
        self.store.execute_kept(commands.clone()).await
    }
}
