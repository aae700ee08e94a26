//! The parts of a running host that the API, the worker and the recovery driver share.

use std::sync::{Arc, OnceLock, Weak};

use segno_blobs::BlobStore;
use segno_core::{command::Command, config::Config, reply::Reply};
use segno_env::Env;
use segno_guest::{Guests, Outbound, Schemas};
use segno_store::{Store, StoreError};

use crate::{
    commit_latency::CommitLatency,
    delivery::Channels,
    description_cache::DescriptionCache,
    held_timers::HeldTimers,
    metrics::Metrics,
    notifier::CommitNotifier,
    protocols::Protocols,
    quarantine::Quarantine,
    resend::{FOR_CLIENTS, ResendPolicy, SentCommands, no_reply},
    slots::ExecutionSlots,
    traces::TraceSender,
    worker::QueryReplicas,
};

/// The shared parts of a host. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    /// Clock, runtime and random numbers.
    pub env: Env,
    /// The engine's settings.
    pub config: Arc<Config>,
    pub store: Arc<dyn Store>,
    /// Loads and runs modules.
    pub guests: Arc<dyn Guests>,
    /// The schemas of modules, which values are checked against.
    pub schemas: Arc<Schemas>,
    /// The descriptions of modules, for the same check.
    pub descriptions: Arc<DescriptionCache>,
    /// Sends the HTTP requests of guests.
    pub outbound: Arc<dyn Outbound>,
    /// Receives the effects of commits.
    pub notifier: Arc<CommitNotifier>,
    /// The metrics of this host.
    pub metrics: Arc<Metrics>,
    /// The duration of undisturbed recent commits.
    pub commit_latency: Arc<CommitLatency>,
    /// The channels that deliver messages.
    pub channels: Arc<Channels>,
    /// The protocols that this host speaks in addition to its own.
    pub protocols: Arc<Protocols>,
    /// Rows that this host skips for a while because handling them failed.
    pub quarantine: Arc<Quarantine>,
    /// Timers that the recovery driver leaves to waiting workflows.
    pub held_timers: Arc<HeldTimers>,
    /// The receiver of spans; see [`Host::traces`].
    pub traces: Arc<OnceLock<TraceSender>>,
    /// The place for blobs; see [`Host::blobs`].
    pub blobs: Arc<OnceLock<BlobStore>>,
    /// Instances that answer queries.
    pub shadows: Arc<QueryReplicas>,
    /// The worker's slots; see [`Host::slots`].
    pub slots: Arc<OnceLock<Weak<ExecutionSlots>>>,
}

impl Host {
    /// A host of these parts. The store passes the effects of its commits to `notifier`, which
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
            schemas: Arc::default(),
            descriptions: Arc::default(),
            outbound,
            metrics: notifier.metrics.clone(),
            commit_latency: notifier.commit_latency.clone(),
            channels: notifier.channels.clone(),
            protocols: Arc::default(),
            quarantine: Arc::default(),
            held_timers: Arc::default(),
            traces: notifier.traces.clone(),
            blobs: Arc::default(),
            shadows: Arc::default(),
            slots: Arc::default(),
            notifier,
        }
    }

    /// The slots of this host's worker. `None` if no worker is running.
    pub fn slots(&self) -> Option<Arc<ExecutionSlots>> {
        self.slots.get()?.upgrade()
    }

    /// Makes the slots of this host's worker available to callers that start invocations. A host
    /// has one worker.
    pub fn open_slots(&self, slots: &Arc<ExecutionSlots>) {
        let _ = self.slots.set(Arc::downgrade(slots));
    }

    /// The receiver of the spans of finished invocations. `None` if tracing is off.
    pub fn traces(&self) -> Option<&TraceSender> {
        self.traces.get()
    }

    /// Sets the receiver of spans. Only the first call has an effect.
    pub fn trace(&self, traces: TraceSender) {
        let _ = self.traces.set(traces);
    }

    /// The place for blobs. `None` if the host has none.
    pub fn blobs(&self) -> Option<&BlobStore> {
        self.blobs.get()
    }

    /// Sets the place for blobs. Only the first call has an effect.
    pub fn keep_blobs(&self, blobs: BlobStore) {
        let _ = self.blobs.set(blobs);
    }

    /// Commits `commands` together, and sends them again according to `resend`.
    ///
    /// # Errors
    /// The [`StoreError`] of the last attempt: the commands were not written, or the outcome is
    /// still unknown.
    pub async fn send(
        &self,
        commands: impl Into<Arc<[Command]>>,
        resend: ResendPolicy,
    ) -> Result<SentCommands, StoreError> {
        resend.send(&*self.store, &*self.env.runtime, commands.into()).await
    }

    /// Commits one command for a client that waits for the reply.
    ///
    /// # Errors
    /// See [`Host::send`].
    pub async fn attempt(&self, command: Command) -> Result<Reply, StoreError> {
        let mut sent = self.send(vec![command], FOR_CLIENTS).await?;
        sent.replies.pop().ok_or_else(no_reply)
    }
}
