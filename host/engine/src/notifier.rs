//! Passes the effects of commits to their receivers in this process. A lost effect costs time and
//! loses no work.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use segno_core::{effect::Effect, id::PromiseId, promise::OutboxKey, time::Timestamp, view::View};
use segno_store::{CommitMetrics, Hints, PromiseRow};
use tokio::sync::{Notify, mpsc, watch};

use crate::{
    changes::ChangeWatchers, commit_latency::CommitLatency, delivery::Channels, metrics::Metrics,
    stream_watch::StreamWatchers, traces::TraceSender,
};

/// Maximum number of effects queued for the dispatcher. Beyond it, the scan of the store finds the
/// work.
const HINTS_KEPT: usize = 65_536;

/// Notice that a promise has settled.
#[derive(Clone, Debug)]
pub struct SettlementNotice {
    pub id: PromiseId,
    /// Its row, if it was in memory when the settlement was committed. `None` if it must be read.
    pub row: Option<Arc<PromiseRow>>,
}

impl SettlementNotice {
    /// A notice without the row.
    pub fn unread(id: PromiseId) -> Self {
        Self { id, row: None }
    }
}

/// Receives effects from the store and passes them to the dispatcher, the recovery driver and the
/// watchers of promises.
pub struct CommitNotifier {
    dispatch: mpsc::Sender<Effect>,
    dispatched: Mutex<Option<mpsc::Receiver<Effect>>>,
    watchers: Mutex<HashMap<PromiseId, Vec<mpsc::UnboundedSender<SettlementNotice>>>>,
    timers: Notify,
    /// The planned instant of the next read of the timers.
    timers_planned: AtomicI64,
    outbox: Notify,
    elsewhere: Notify,
    /// The number of events published on this host.
    events: watch::Sender<u64>,
    /// The watchers of changed promises.
    pub changes: Arc<ChangeWatchers>,
    /// The live readers of streams.
    pub streams: Arc<StreamWatchers>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) commit_latency: Arc<CommitLatency>,
    pub(crate) traces: Arc<OnceLock<TraceSender>>,
}

impl Default for CommitNotifier {
    fn default() -> Self {
        let (dispatch, dispatched) = mpsc::channel(HINTS_KEPT);
        Self {
            dispatch,
            dispatched: Mutex::new(Some(dispatched)),
            watchers: Mutex::default(),
            timers: Notify::new(),
            timers_planned: AtomicI64::new(i64::MAX),
            outbox: Notify::new(),
            elsewhere: Notify::new(),
            events: watch::Sender::new(0),
            changes: Arc::default(),
            streams: Arc::default(),
            channels: Arc::default(),
            metrics: Arc::default(),
            commit_latency: Arc::default(),
            traces: Arc::default(),
        }
    }
}

impl CommitNotifier {
    /// Takes the dispatcher's receiver of ready tasks and of claims to interrupt. `None` after the
    /// first call: there is one dispatcher.
    pub fn take_dispatched(&self) -> Option<mpsc::Receiver<Effect>> {
        self.dispatched.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Passes `effect` to the dispatcher, as a commit would.
    pub fn dispatch(&self, effect: Effect) {
        // If the queue is full, the scan for ready tasks finds the task.
        let _ = self.dispatch.try_send(effect);
    }

    /// Notifies `watcher` when `id` settles. Register first, then read the promise, so that no
    /// settlement is missed.
    pub fn watch(&self, id: PromiseId, watcher: mpsc::UnboundedSender<SettlementNotice>) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let of_id = watchers.entry(id).or_default();
        of_id.retain(|known| !known.is_closed());
        of_id.push(watcher);
    }

    /// Removes watchers of `id` that have been dropped.
    pub fn unwatch(&self, id: &PromiseId) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_id) = watchers.get_mut(id) {
            of_id.retain(|known| !known.is_closed());
            if of_id.is_empty() {
                watchers.remove(id);
            }
        }
    }

    /// Sets the instant of the next read of the timers, so that only earlier changes are notified.
    /// Pass `None` before the read: then every change is notified, and none between the read and
    /// the plan is missed.
    pub fn plan_timers(&self, at: Option<Timestamp>) {
        self.timers_planned.store(at.map_or(i64::MAX, |at| at.0), Ordering::SeqCst);
    }

    /// Completes when a timer may be due earlier than planned.
    pub async fn timer_changed(&self) {
        self.timers.notified().await;
    }

    /// Wakes the outbox: a message may have become deliverable.
    pub fn wake_outbox(&self) {
        self.outbox.notify_one();
    }

    /// Completes when the outbox may have messages to send.
    pub async fn outbox_changed(&self) {
        self.outbox.notified().await;
    }

    /// Completes when other hosts may have left tasks without a worker.
    pub async fn work_elsewhere(&self) {
        self.elsewhere.notified().await;
    }

    /// Subscribes to the number of events published on this host.
    pub fn published(&self) -> watch::Receiver<u64> {
        self.events.subscribe()
    }

    /// Passes a settled promise to its watchers, with its row if `state` has it.
    fn settled(&self, id: &PromiseId, state: &View) {
        let gone = self.watchers.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let Some(watchers) = gone else { return };
        let row = state.promise(id).filter(|promise| !promise.is_pending()).map(|promise| {
            Arc::new(PromiseRow { promise: promise.clone(), task: state.task(id).cloned() })
        });
        for watcher in watchers {
            // A watcher may have stopped waiting.
            let _ = watcher.send(SettlementNotice { id: id.clone(), row: row.clone() });
        }
    }

    fn hint(&self, effect: &Effect, state: &View) {
        match effect {
            Effect::Ready { .. } | Effect::Interrupt(_) | Effect::CancelRequested { .. } => {
                self.dispatch(effect.clone());
            }
            Effect::Settled { id } => self.settled(id, state),
            Effect::TimerChanged { earliest } => {
                // Nearly all changes are leases, which end long after the next read of the timers.
                if earliest.0 < self.timers_planned.load(Ordering::SeqCst) {
                    self.timers.notify_one();
                }
            }
            Effect::Outbox(key) => {
                self.outbox.notify_one();
                if matches!(key, OutboxKey::Event(..)) {
                    self.events.send_modify(|published| *published += 1);
                }
            }
            Effect::Wanted(key) => self.channels.wanted(key),
            Effect::StreamChanged(id) => self.streams.changed(id),
            Effect::Unread { id, signals, promises } => {
                let names =
                    promises.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
                tracing::warn!(
                    target: "segno::signals",
                    %id,
                    signals,
                    promises = names,
                    "the execution ended, and left signals or promises unread: `segno inspect {id}` lists them"
                );
                self.metrics.engine.unread(*signals, promises.len());
            }
            Effect::Skipped { schedule, reason, count, at, detail } => {
                self.metrics.engine.skipped(*reason, *count);
                tracing::warn!(
                    %schedule, %reason, count, at = %at.in_utc(), detail = %&**detail,
                    "a schedule skipped occurrences"
                );
            }
            Effect::OccurrenceFailed { schedule, id, verdict } => {
                self.metrics.engine.occurrence_failed(*verdict);
                tracing::warn!(
                    %schedule, execution = %id, outcome = ?verdict,
                    "an execution that a schedule started ended without a result"
                );
            }
            Effect::Count(metric) => self.metrics.engine.count(*metric),
        }
    }
}

impl Hints for CommitNotifier {
    fn committed(&self, effects: &[Effect], state: &View) {
        if let Some(traces) = self.traces.get() {
            for effect in effects {
                if let Effect::Settled { id } = effect {
                    traces.settled(id);
                }
            }
        }
        // Messages without a receiver on this host are requested from other hosts.
        let here = effects.iter().filter(|effect| !matches!(effect, Effect::Wanted(_)));
        here.for_each(|effect| self.hint(effect, state));
    }

    fn heard(&self, effects: &[Effect]) {
        if self.changes.are_watched() {
            let settled = effects.iter().filter_map(|effect| match effect {
                Effect::Settled { id } | Effect::CancelRequested { id } => Some(id.clone()),
                _ => None,
            });
            self.changes.tell(&settled.collect());
        }
        effects.iter().for_each(|effect| self.hint(effect, &View::default()));
    }

    fn work_elsewhere(&self) {
        self.elsewhere.notify_one();
    }

    fn watched(&self) -> Vec<PromiseId> {
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.keys().cloned().collect()
    }

    fn watches_changes(&self) -> bool {
        self.changes.are_watched()
    }

    fn changed(&self, ids: &BTreeSet<PromiseId>) {
        self.changes.tell(ids);
    }

    fn measured(&self, commit: &CommitMetrics) {
        let CommitMetrics { commands, took, waiting } = *commit;
        self.metrics.store.committed(commands, took, waiting);
        self.commit_latency.took(took);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use segno_core::{
        command::Command,
        promise::{NewPromise, Verdict},
        value::{Tags, Value},
    };

    use super::*;
    use crate::testing;

    #[test]
    fn only_timers_before_the_next_look_are_told_of() {
        let notifier = CommitNotifier::default();
        let told = |earliest| {
            notifier.heard(&[Effect::TimerChanged { earliest: Timestamp(earliest) }]);
            notifier.timer_changed().now_or_never().is_some()
        };
        assert!(told(500), "nothing is planned yet");
        notifier.plan_timers(Some(Timestamp(100)));
        assert!(told(99));
        assert!(!told(100));
        notifier.plan_timers(None);
        assert!(told(100), "the timers are read at this instant");
    }

    #[tokio::test]
    async fn a_notice_has_the_row_that_a_commit_left_in_memory() {
        let host = testing::host();
        let id = PromiseId::from("approval");
        let (param, tags, timeout_at) = (Value::default(), Tags::new(), Timestamp::NEVER);
        let new = NewPromise { id: id.clone(), param, tags, timeout_at };
        host.attempt(Command::PromiseCreate(new)).await.expect("it is created");
        let (sender, mut settled) = mpsc::unbounded_channel();
        host.notifier.watch(id.clone(), sender.clone());
        let value = Value { data: b"true".as_slice().into(), ..Value::default() };
        let settle = Command::PromiseSettle { id: id.clone(), verdict: Verdict::Resolved, value };
        host.attempt(settle).await.expect("it is settled");
        let notice = settled.try_recv().expect("it settled");
        let row = notice.row.expect("the store has it in memory");
        let read = host.store.read().promise(&id).await.expect("memory answers");
        assert_eq!(row.promise, read.expect("it is stored").promise);

        host.notifier.watch(id.clone(), sender);
        host.notifier.heard(&[Effect::Settled { id }]);
        assert!(settled.try_recv().expect("another host says so").row.is_none());
    }
}
