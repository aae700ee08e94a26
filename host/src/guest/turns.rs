//! Turns for guests that compute for longer than an epoch.
//!
//! A call that ends within its first epoch needs none of this. One that goes on computes in turns of an epoch: as many
//! such guests at once as there are processors, whoever waited longest first. It does so on a thread that nobody else
//! waits for: the runtime carries on its other tasks on another one, and the system shares the processors among them.
//! So however many guests compute, work that is soon done waits for none of them.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{block_in_place, yield_now},
};

/// Who may compute.
#[derive(Clone)]
pub(super) struct Turns(Arc<Semaphore>);

/// The turn of one instance.
#[derive(Clone, Default)]
pub(super) struct Turn(Arc<Present>);

#[derive(Default)]
struct Present {
    /// Whether the present call has used up an epoch.
    is_long: AtomicBool,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Turns {
    /// For so many guests at once.
    pub(super) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once.max(1))))
    }

    /// Ends the present turn of `turn`; its next one has come when this ends.
    pub(super) fn next(&self, turn: &Turn) -> impl Future<Output = ()> + Send + use<> {
        turn.end();
        turn.0.is_long.store(true, Ordering::Relaxed);
        let (turns, turn) = (self.0.clone(), turn.clone());
        async move {
            yield_now().await;
            // It is never closed.
            if let Ok(permit) = turns.acquire_owned().await {
                *turn.permit() = Some(permit);
            }
        }
    }
}

impl Turn {
    /// The guest does not compute any more: its call has ended, or it waits for the host.
    pub(super) fn end(&self) {
        if self.0.is_long.swap(false, Ordering::Relaxed) {
            drop(self.permit().take());
        }
    }

    /// Polls `call` so that long turns hold up nobody.
    pub(super) async fn taking<T>(self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        let answer =
            poll_fn(|context| match self.0.is_long.load(Ordering::Relaxed) && has_threads() {
                true => block_in_place(|| call.as_mut().poll(context)),
                false => call.as_mut().poll(context),
            });
        answer.await
    }

    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.0.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the runtime can go on with its other tasks on another thread.
fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::{FutureExt as _, poll};
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn turns_go_round_and_are_given_up_by_whoever_waits_or_ends() {
        let turns = Turns::new(2);
        let guests = [(); 4].map(|()| Turn::default());
        turns.next(&guests[0]).await;
        turns.next(&guests[1]).await;
        let mut third = Box::pin(turns.next(&guests[2]));
        let mut fourth = Box::pin(turns.next(&guests[3]));
        for _ in 0..3 {
            assert_eq!(poll!(&mut third), Poll::Pending);
            assert_eq!(poll!(&mut fourth), Poll::Pending);
        }
        // Whoever used its turn up queues behind those who wait.
        let mut first = Box::pin(turns.next(&guests[0]));
        assert_eq!(poll!(&mut first), Poll::Pending);
        assert!(third.as_mut().now_or_never().is_some());
        assert_eq!(poll!(&mut fourth), Poll::Pending);
        guests[1].end();
        fourth.await;
        assert_eq!(poll!(&mut first), Poll::Pending);
        guests[2].end();
        first.await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_long_turn_holds_up_no_other_task() {
        let turn = Turn::default();
        Turns::new(1).next(&turn).await;
        let (other, heard) = std::sync::mpsc::channel();
        let mut tasks = JoinSet::new();
        // There is one thread for tasks, and this keeps it until the other task has run.
        tasks.spawn(turn.taking(async move { heard.recv().expect("the other task runs") }));
        tasks.spawn(async move { other.send(()).expect("it is heard") });
        while let Some(ended) = tasks.join_next().await {
            ended.expect("no panic");
        }
    }
}
