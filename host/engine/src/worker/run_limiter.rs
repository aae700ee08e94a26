//! A limit on the number of executions that run concurrently: enough to keep the processors busy
//! while commits are in flight.
//!
//! More executions gain nothing and have a cost. After a thousand other executions have run,
//! nothing that a step needs of its instance is left in the processor's caches, so each step takes
//! twice as long. An execution beyond the limit waits in a queue, which is round-robin between
//! modules. The next one runs when another has ended, or begins a long wait.
//!
//! The limit depends on the duration of a commit ([`CommitLatency`]). While the queue does not
//! move, because the running executions compute or have many steps left, the limit grows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use segno_core::{time::Millis, value::Text};
use segno_env::Runtime;
use tokio::sync::oneshot;

use crate::{commit_latency::CommitLatency, fair_queue::FairQueue, metrics::Metrics};

/// Executions per processor, however short commits are. Ready commands then gather, and commits
/// carry more of them.
const PER_PROCESSOR: usize = 48;
/// The minimum processor time of one step, in microseconds.
const STEP_US: usize = 16;
/// A queue that does not move for this time raises the limit. Executions that began together may
/// end together, so this is longer than a few steps.
const STANDSTILL: Millis = Millis(50);

/// Hands out permits to run.
#[derive(Clone)]
pub(crate) struct RunLimiter(Arc<RunLimiterState>);

struct RunLimiterState {
    processors: usize,
    commit_latency: Arc<CommitLatency>,
    metrics: Arc<Metrics>,
    runtime: Arc<dyn Runtime>,
    queue: Mutex<PermitQueue>,
}

#[derive(Default)]
struct PermitQueue {
    running: usize,
    /// The amount by which the limit was raised while the queue did not move.
    raised: usize,
    /// The queued executions, by module, in round-robin order.
    waiting: FairQueue<Text, oneshot::Sender<RunPermit>>,
    /// True if an execution was admitted since the last check.
    moved: bool,
    watched: bool,
}

/// A permit to run. Dropping it releases it.
pub(crate) struct RunPermit(RunLimiter);

impl RunLimiter {
    /// A limiter for this many processors.
    pub(crate) fn new(
        processors: usize,
        commit_latency: Arc<CommitLatency>,
        metrics: Arc<Metrics>,
        runtime: Arc<dyn Runtime>,
    ) -> Self {
        Self(Arc::new(RunLimiterState {
            processors: processors.max(1),
            commit_latency,
            metrics,
            runtime,
            queue: Mutex::default(),
        }))
    }

    /// Waits for a permit for an execution of this module, in the order of the queue.
    pub(crate) async fn permit(&self, module: &str) -> RunPermit {
        loop {
            let waiting = match self.admit_or_queue(module) {
                Ok(permit) => return permit,
                Err(waiting) => waiting,
            };
            // The sender is dropped without a permit only by a host that shuts down.
            if let Ok(permit) = waiting.await {
                return permit;
            }
        }
    }

    fn admit_or_queue(&self, module: &str) -> Result<RunPermit, oneshot::Receiver<RunPermit>> {
        let mut queue = self.queue();
        if let Some(permit) = self.admit_now(&mut queue) {
            return Ok(permit);
        }
        let (admit, waiting) = oneshot::channel();
        queue.waiting.push(Text::from(module), admit);
        self.count(&queue);
        if !std::mem::replace(&mut queue.watched, true) {
            self.0.runtime.spawn("run queue", Box::pin(self.clone().watch()));
        }
        Err(waiting)
    }

    fn admit_now(&self, queue: &mut PermitQueue) -> Option<RunPermit> {
        let free = queue.waiting.is_empty() && queue.running < self.limit(queue);
        free.then(|| {
            queue.running += 1;
            RunPermit(self.clone())
        })
    }

    /// Raises the limit whenever the queue does not move, until the queue is empty.
    async fn watch(self) {
        loop {
            self.0.runtime.sleep(STANDSTILL).await;
            let mut queue = self.queue();
            if queue.waiting.is_empty() {
                queue.watched = false;
                return;
            }
            if !std::mem::take(&mut queue.moved) {
                queue.raised += self.limit(&queue) / 4;
            }
            self.admit_waiting(queue);
        }
    }

    fn release(&self) {
        let mut queue = self.queue();
        queue.running -= 1;
        if queue.running < self.base_limit() {
            queue.raised = 0;
        }
        self.admit_waiting(queue);
    }

    fn admit_waiting(&self, mut queue: MutexGuard<'_, PermitQueue>) {
        let mut admitted = Vec::new();
        while queue.running < self.limit(&queue)
            && let Some(admit) = queue.waiting.pop()
        {
            if admit.is_closed() {
                continue;
            }
            queue.running += 1;
            queue.moved = true;
            admitted.push(admit);
        }
        self.count(&queue);
        drop(queue);
        for admit in admitted {
            // An execution that was dropped in the meantime releases its permit immediately.
            let _ = admit.send(RunPermit(self.clone()));
        }
    }

    fn count(&self, queue: &PermitQueue) {
        let waiting = i64::try_from(queue.waiting.len()).unwrap_or(i64::MAX);
        self.0.metrics.worker.queued_runs.set(waiting);
    }

    fn limit(&self, queue: &PermitQueue) -> usize {
        self.base_limit() + queue.raised
    }

    fn base_limit(&self) -> usize {
        let commit_us =
            usize::try_from(self.0.commit_latency.shortest().as_micros()).unwrap_or(usize::MAX);
        self.0.processors.saturating_mul(PER_PROCESSOR + commit_us / STEP_US)
    }

    fn queue(&self) -> MutexGuard<'_, PermitQueue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use crate::testing;

    fn limiter(commit: Duration) -> RunLimiter {
        let host = testing::host();
        host.commit_latency.took(commit);
        RunLimiter::new(1, host.commit_latency, host.metrics, host.env.runtime)
    }

    fn try_permit(limiter: &RunLimiter) -> Option<RunPermit> {
        limiter.admit_now(&mut limiter.queue())
    }

    fn all_permits(limiter: &RunLimiter) -> Vec<RunPermit> {
        std::iter::from_fn(|| try_permit(limiter)).collect()
    }

    #[test]
    fn longer_commits_let_more_run() {
        assert_eq!(all_permits(&limiter(Duration::from_micros(160))).len(), PER_PROCESSOR + 10);
        assert_eq!(all_permits(&limiter(Duration::from_millis(16))).len(), PER_PROCESSOR + 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_runs_when_one_ends_in_the_order_of_the_queue() {
        let limiter = limiter(Duration::ZERO);
        let mut running = all_permits(&limiter);
        let (mut first, mut second) =
            (Box::pin(limiter.permit("m")), Box::pin(limiter.permit("m")));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        running.pop();
        assert!(second.as_mut().now_or_never().is_none(), "the first comes first");
        let permit = first.as_mut().now_or_never().expect("it is the first one's");
        assert!(try_permit(&limiter).is_none(), "nothing passes the queue");
        assert_eq!(limiter.0.metrics.worker.queued_runs.get(), 1);
        drop(permit);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_left_the_queue_takes_no_permit() {
        let limiter = limiter(Duration::ZERO);
        let running = all_permits(&limiter);
        let mut gone = Box::pin(limiter.permit("m"));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut waiting = Box::pin(limiter.permit("m"));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(gone);
        drop(running);
        // The waiting execution has its permit, and is dropped without having used it.
        drop(waiting);
        assert_eq!(all_permits(&limiter).len(), PER_PROCESSOR);
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_stands_still_admits_more_until_there_are_few_again() {
        let limiter = limiter(Duration::ZERO);
        let mut running = all_permits(&limiter);
        for _ in 0..3 * PER_PROCESSOR {
            running.push(limiter.permit("m").await);
        }
        running.clear();
        assert_eq!(all_permits(&limiter).len(), PER_PROCESSOR, "as at the beginning");
    }
}
