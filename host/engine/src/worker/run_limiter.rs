//! How many executions are under way at once: as many as keep the processors busy while commits are on their way.
//!
//! More gain nothing, and cost: what a step needs of its instance is in no cache of the processor any more when a
//! thousand others had their turn since the step before, so that each of them takes twice as long. Whoever comes when
//! there are enough waits in line, and the next begins when one has ended or waits for something that takes its time.
//!
//! How many are enough depends on how long a commit takes, which the notifier hears ([`CommitNotifier::commit_latency`]). A line in which
//! nothing moves, since those under way compute or have many steps to go, lets in more and more.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::time::Millis;
use tokio::sync::oneshot;

use crate::notifier::CommitNotifier;
use segno_env::Runtime;

/// So many for each processor, however short commits are: what is ready gathers, and commits carry more.
const EACH: usize = 48;
/// What one step takes of a processor at least, in microseconds.
const STEP_US: usize = 16;
/// A line that did not move for so long lets in more. Those who began together may end together, so it takes longer than
/// a few steps.
const STANDSTILL: Millis = Millis(50);

/// See the module.
#[derive(Clone)]
pub struct RunLimiter(Arc<Shared>);

struct Shared {
    processors: usize,
    notifier: Arc<CommitNotifier>,
    runtime: Arc<dyn Runtime>,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    under_way: usize,
    /// So many more than are enough may be under way, since the line stood still.
    more: usize,
    waiting: VecDeque<oneshot::Sender<RunPermit>>,
    /// Whether somebody was let in since the last look.
    moved: bool,
    watched: bool,
}

/// Being one of those under way, until this is dropped.
pub struct RunPermit(RunLimiter);

impl RunLimiter {
    /// Nobody is under way.
    pub fn new(
        processors: usize,
        notifier: Arc<CommitNotifier>,
        runtime: Arc<dyn Runtime>,
    ) -> Self {
        let line = Mutex::default();
        Self(Arc::new(Shared { processors: processors.max(1), notifier, runtime, line }))
    }

    /// A permit, when it comes.
    pub async fn permit(&self) -> RunPermit {
        loop {
            let told = match self.enter() {
                Ok(permit) => return permit,
                Err(told) => told,
            };
            // Only a host that ends tells nobody.
            if let Ok(permit) = told.await {
                return permit;
            }
        }
    }

    /// A permit, or a place in the line.
    fn enter(&self) -> Result<RunPermit, oneshot::Receiver<RunPermit>> {
        let mut line = self.line();
        if let Some(permit) = self.begin(&mut line) {
            return Ok(permit);
        }
        let (tell, told) = oneshot::channel();
        line.waiting.push_back(tell);
        self.show(&line);
        if !std::mem::replace(&mut line.watched, true) {
            self.0.runtime.spawn("line", Box::pin(self.clone().watch()));
        }
        Err(told)
    }

    fn begin(&self, line: &mut Line) -> Option<RunPermit> {
        let free = line.waiting.is_empty() && line.under_way < self.limit(line);
        free.then(|| {
            line.under_way += 1;
            RunPermit(self.clone())
        })
    }

    /// Lets in more whenever the line stands still, until nobody waits.
    async fn watch(self) {
        loop {
            self.0.runtime.sleep(STANDSTILL).await;
            let mut line = self.line();
            if line.waiting.is_empty() {
                line.watched = false;
                return;
            }
            if !std::mem::take(&mut line.moved) {
                line.more += self.limit(&line) / 4;
            }
            self.let_in(line);
        }
    }

    fn leave(&self) {
        let mut line = self.line();
        line.under_way -= 1;
        if line.under_way < self.enough() {
            line.more = 0;
        }
        self.let_in(line);
    }

    fn let_in(&self, mut line: MutexGuard<'_, Line>) {
        let mut next = Vec::new();
        while line.under_way < self.limit(&line)
            && let Some(tell) = line.waiting.pop_front()
        {
            if tell.is_closed() {
                continue;
            }
            line.under_way += 1;
            line.moved = true;
            next.push(tell);
        }
        self.show(&line);
        drop(line);
        for tell in next {
            // Whoever went away leaves at once.
            let _ = tell.send(RunPermit(self.clone()));
        }
    }

    fn show(&self, line: &Line) {
        let in_line = i64::try_from(line.waiting.len()).unwrap_or(i64::MAX);
        self.0.notifier.metrics().worker.in_line.set(in_line);
    }

    fn limit(&self, line: &Line) -> usize {
        self.enough() + line.more
    }

    fn enough(&self) -> usize {
        let us = usize::try_from(self.0.notifier.commit_latency().shortest().as_micros())
            .unwrap_or(usize::MAX);
        self.0.processors.saturating_mul(EACH + us / STEP_US)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use segno_env::SystemRuntime;
    use segno_store::{Commit, Hints as _};

    fn run_limiter(commit: Duration) -> RunLimiter {
        let notifier = Arc::new(CommitNotifier::default());
        notifier.measured(&Commit { commands: 1, took: commit, waiting: 0 });
        RunLimiter::new(1, notifier, Arc::new(SystemRuntime))
    }

    fn try_turn(run_limiter: &RunLimiter) -> Option<RunPermit> {
        run_limiter.begin(&mut run_limiter.line())
    }

    fn all_turns(run_limiter: &RunLimiter) -> Vec<RunPermit> {
        std::iter::from_fn(|| try_turn(run_limiter)).collect()
    }

    #[test]
    fn longer_commits_let_more_be_under_way() {
        assert_eq!(all_turns(&run_limiter(Duration::from_micros(160))).len(), EACH + 10);
        assert_eq!(all_turns(&run_limiter(Duration::from_millis(16))).len(), EACH + 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_begins_when_one_ends_in_the_order_of_the_line() {
        let run_limiter = run_limiter(Duration::ZERO);
        let mut under_way = all_turns(&run_limiter);
        let (mut first, mut second) =
            (Box::pin(run_limiter.permit()), Box::pin(run_limiter.permit()));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        under_way.pop();
        assert!(second.as_mut().now_or_never().is_none(), "the first comes first");
        let permit = first.as_mut().now_or_never().expect("it is the first one's permit");
        assert!(try_turn(&run_limiter).is_none(), "nobody passes those who wait");
        assert_eq!(run_limiter.0.notifier.metrics().worker.in_line.get(), 1);
        drop(permit);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_left_the_line_takes_no_turn() {
        let run_limiter = run_limiter(Duration::ZERO);
        let under_way = all_turns(&run_limiter);
        let mut gone = Box::pin(run_limiter.permit());
        assert!(gone.as_mut().now_or_never().is_none());
        let mut told = Box::pin(run_limiter.permit());
        assert!(told.as_mut().now_or_never().is_none());
        drop(gone);
        drop(under_way);
        // This one was told, and goes away without having heard it.
        drop(told);
        assert_eq!(all_turns(&run_limiter).len(), EACH);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_stands_still_lets_in_more_until_there_are_few_again() {
        let run_limiter = run_limiter(Duration::ZERO);
        let mut under_way = all_turns(&run_limiter);
        for _ in 0..3 * EACH {
            under_way.push(run_limiter.permit().await);
        }
        under_way.clear();
        assert_eq!(all_turns(&run_limiter).len(), EACH, "as at the beginning");
    }
}
