//! Time slices for guests that compute for longer than an epoch.
//!
//! A call that ends within its first epoch is not affected. A longer one moves to a thread for long
//! calls and computes there in turns of one epoch: as many guests concurrently as there are
//! processors, in the order of the queue. These threads have a lower priority than the other
//! threads of the process: the system runs them when no other thread wants the processor, and
//! interrupts them as soon as one does. Short calls therefore never wait, however many guests
//! compute.
//!
//! The number of calls that may compute concurrently is limited, since each keeps an instance and a
//! slot, and is shared fairly by modules: a further call is rejected and retried later.

use std::{
    future::{Future, poll_fn},
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use segno_core::{fair_share::FairShares, id::Digest};
use segno_env::answer_heap;
use tokio::{
    runtime::{Builder, Handle, Runtime, RuntimeFlavor},
    task::yield_now,
};
use tokio_util::task::AbortOnDropHandle;

use super::line::{ComputePermit, ComputeQueue};

/// Niceness of the threads, relative to the other threads.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;
/// Maximum time that such a thread runs in one slice while no other thread wants the processor, in
/// nanoseconds: the maximum of Linux.
#[cfg(target_os = "linux")]
const SLICE_NS: u64 = 100_000_000;

pub const COMPUTING: &str = "segno-compute";

/// The scheduler that decides which calls compute, and on which threads.
#[derive(Clone)]
pub(super) struct FairScheduler(Arc<SchedulerState>);

struct SchedulerState {
    line: ComputeQueue,
    /// Permits of calls that compute for long, with or without a current turn, by module.
    crowd: Mutex<FairShares<Digest>>,
    /// Started with the first long call. `None` if the threads could not be started.
    threads: OnceLock<Option<ComputeThreads>>,
}

/// The turn of one instance.
#[derive(Clone)]
pub(super) struct InstanceTurn {
    /// `None` if the call continues at each epoch, on the caller's thread.
    turns: Option<FairScheduler>,
    module: Digest,
    present: Arc<TurnState>,
}

/// Error: the maximum number of calls computes for long already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyComputing {
    /// The maximum number of calls that compute for long.
    pub(super) limit: u32,
}

#[derive(Default)]
struct TurnState {
    /// True if the current call has used up an epoch.
    is_long: AtomicBool,
    place: Mutex<Option<ComputePermit>>,
    /// True if the call is never rejected.
    stays: AtomicBool,
    /// Permit held while the call computes for long.
    of_crowd: Mutex<Option<CrowdPermit>>,
}

/// A permit to be one of the calls that compute for long.
struct CrowdPermit {
    turns: FairScheduler,
    module: Digest,
}

impl Drop for CrowdPermit {
    fn drop(&mut self) {
        self.turns.crowd().give_back(&self.module, 1);
    }
}

impl FairScheduler {
    /// Creates a scheduler for `at_once` concurrent guests, out of at most `crowd_limit` that
    /// compute for long.
    pub(super) fn new(at_once: usize, crowd_limit: u32) -> Self {
        let crowd = Mutex::new(FairShares::new(crowd_limit as usize));
        Self(Arc::new(SchedulerState {
            line: ComputeQueue::new(at_once),
            crowd,
            threads: OnceLock::new(),
        }))
    }

    fn crowd(&self) -> MutexGuard<'_, FairShares<Digest>> {
        self.0.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The threads for long calls. `None` if calls stay on their callers' threads.
    fn threads(&self) -> Option<&ComputeThreads> {
        let started =
            self.0.threads.get_or_init(|| match ComputeThreads::start(self.0.line.at_once()) {
                Ok(threads) => Some(threads),
                Err(error) => {
                    tracing::warn!("no threads for guests that compute for long: {error}");
                    None
                }
            });
        started.as_ref()
    }
}

impl InstanceTurn {
    /// The turn of an instance of `module` that shares the processors by `turns`. With `None`, it
    /// computes without a pause.
    pub(super) fn new(turns: Option<FairScheduler>, module: Digest) -> Self {
        Self { turns, module, present: Arc::default() }
    }

    /// Like [`InstanceTurn::new`], for an instance that is never rejected.
    pub(super) fn at_once(turns: Option<FairScheduler>, module: Digest) -> Self {
        let turn = Self::new(turns, module);
        turn.stay();
        turn
    }

    /// From now on the call is never rejected, however many calls compute.
    pub(super) fn stay(&self) {
        self.present.stays.store(true, Ordering::Relaxed);
    }

    /// Returns true if the call takes turns at all.
    pub(super) fn takes_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Returns true if the current call has used up an epoch.
    pub(super) fn is_long(&self) -> bool {
        self.present.is_long.load(Ordering::Relaxed)
    }

    /// Returns true if any call has a turn now.
    pub(super) fn somebody_computes(&self) -> bool {
        self.turns.as_ref().is_some_and(|FairScheduler(order)| order.line.is_used())
    }

    /// Ends the current turn. The future completes when the next one begins. `None` if the call
    /// continues immediately. `epochs` is the time for which the call has computed.
    ///
    /// # Errors
    /// The call has just begun to compute for long, and the maximum number does so already.
    pub(super) fn next(
        &self,
        epochs: u64,
    ) -> Result<Option<impl Future<Output = ()> + Send + use<>>, TooManyComputing> {
        let Some(turns @ FairScheduler(order)) = &self.turns else { return Ok(None) };
        self.join_crowd(turns)?;
        drop(self.place().take());
        self.present.is_long.store(true, Ordering::Relaxed);
        let (turn, line) = (self.clone(), order.line.clone());
        Ok(Some(async move {
            yield_now().await;
            let place = line.place(epochs).await;
            *turn.place() = Some(place);
        }))
    }

    fn join_crowd(&self, turns: &FairScheduler) -> Result<(), TooManyComputing> {
        let mut of_crowd = self.of_crowd();
        if of_crowd.is_none() && !self.present.stays.load(Ordering::Relaxed) {
            let mut crowd = turns.crowd();
            if !crowd.take(self.module, 1) {
                return Err(TooManyComputing {
                    limit: u32::try_from(crowd.all()).unwrap_or(u32::MAX),
                });
            }
            *of_crowd = Some(CrowdPermit { turns: turns.clone(), module: self.module });
        }
        Ok(())
    }

    /// Ends the turn: the call has ended, or waits for the host.
    pub(super) fn end(&self) {
        if self.present.is_long.swap(false, Ordering::Relaxed) {
            drop(self.place().take());
            drop(self.of_crowd().take());
        }
    }

    /// Runs `call`, and moves it to another thread once it takes long. If the future is dropped,
    /// the call is dropped at the end of its turn.
    pub(super) async fn taking<T: Send + 'static>(
        self,
        call: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let mut call: ComputingCall<T> = Box::pin(call);
        let short = poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if self.is_long() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        match short.await {
            Some(answer) => answer,
            None => {
                match self.turns.as_ref().filter(|_| has_threads()).and_then(FairScheduler::threads)
                {
                    Some(threads) => threads.carry_out(call).await,
                    None => call.await,
                }
            }
        }
    }

    fn of_crowd(&self) -> MutexGuard<'_, Option<CrowdPermit>> {
        self.present.of_crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> MutexGuard<'_, Option<ComputePermit>> {
        self.present.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true on a host, false in a test on one thread in virtual time.
fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread)
}

type ComputingCall<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The threads for long calls.
struct ComputeThreads(Option<Runtime>);

impl ComputeThreads {
    fn start(count: usize) -> std::io::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        threads
            .worker_threads(count)
            .thread_name(COMPUTING)
            .on_thread_start(step_back)
            .on_thread_park(answer_heap);
        threads.build().map(Some).map(Self)
    }

    /// Runs `call` in the context of the caller's runtime: tasks that it spawns run there.
    async fn carry_out<T: Send + 'static>(&self, mut call: ComputingCall<T>) -> T {
        let Some(threads) = &self.0 else { return call.await };
        let home = Handle::current();
        let away = poll_fn(move |context| {
            let _at_home = home.enter();
            call.as_mut().poll(context)
        });
        match AbortOnDropHandle::new(threads.spawn(away)).await {
            Ok(answer) => answer,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The threads ended with the process.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl Drop for ComputeThreads {
    fn drop(&mut self) {
        // Shut down in the background: this may be dropped by a task, which must not block.
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// Lowers the priority of the current thread.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!("a thread for guests matters as much as others: {error}");
        }
        if let Err(error) = take_long_slices() {
            tracing::debug!("a thread for guests may keep others waiting for some ms: {error}");
        }
    }
}

/// Gives the current thread longer slices than others. From Linux 6.12 on, such a thread is
/// interrupted as soon as another wakes; otherwise its slice ends at the system's next clock tick.
/// Older kernels ignore the setting.
#[cfg(target_os = "linux")]
fn take_long_slices() -> std::io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: NICENESS,
        sched_priority: 0,
        sched_runtime: SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the system reads the number of bytes in the first field, and keeps no reference to
    // them.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, task::Poll, thread};

    use futures::{FutureExt as _, poll};
    use tokio::{sync::oneshot, task::JoinSet};

    use super::*;

    fn module(number: u8) -> Digest {
        Digest::of(&[number])
    }

    fn next(turn: &InstanceTurn) -> impl Future<Output = ()> + use<> {
        Box::pin(turn.next(1).expect("there is no crowd").expect("it takes turns"))
    }

    #[tokio::test]
    async fn turns_go_round_and_are_given_up_by_whoever_waits_or_ends() {
        let turns = FairScheduler::new(2, 8);
        let guests = [(); 4].map(|()| InstanceTurn::new(Some(turns.clone()), module(1)));
        next(&guests[0]).await;
        next(&guests[1]).await;
        let mut third = Box::pin(next(&guests[2]));
        let mut fourth = Box::pin(next(&guests[3]));
        for _ in 0..3 {
            assert_eq!(poll!(&mut third), Poll::Pending);
            assert_eq!(poll!(&mut fourth), Poll::Pending);
        }
        // A call that has used up its turn queues behind the waiting ones.
        let mut first = Box::pin(next(&guests[0]));
        assert_eq!(poll!(&mut first), Poll::Pending);
        assert!(third.as_mut().now_or_never().is_some());
        assert_eq!(poll!(&mut fourth), Poll::Pending);
        guests[1].end();
        fourth.await;
        assert_eq!(poll!(&mut first), Poll::Pending);
        guests[2].end();
        first.await;
    }

    #[tokio::test]
    async fn one_too_many_is_put_off_until_another_has_ended() {
        let turns = FairScheduler::new(1, 2);
        let guests = [1, 2, 3].map(|number| InstanceTurn::new(Some(turns.clone()), module(number)));
        for _ in 0..3 {
            assert!(
                guests[0].next(1).is_ok() && guests[1].next(1).is_ok(),
                "they were there first"
            );
            assert_eq!(guests[2].next(1).map(|_| ()), Err(TooManyComputing { limit: 2 }));
        }
        let described = InstanceTurn::at_once(Some(turns), module(1));
        assert!(described.next(1).is_ok(), "a call that is never put off takes no place");
        guests[0].end();
        assert!(guests[2].next(1).is_ok());
        assert!(guests[0].next(1).is_err());
        drop(guests);
        assert_eq!(described.turns.expect("it takes turns").crowd().taken(), 0);
    }

    #[tokio::test]
    async fn a_module_that_computes_in_as_many_calls_as_it_can_leaves_room_for_another() {
        let turns = FairScheduler::new(1, 10);
        let of = |number| InstanceTurn::new(Some(turns.clone()), module(number));
        let crowd: Vec<InstanceTurn> = std::iter::repeat_with(|| of(1)).take(20).collect();
        let joined = crowd.iter().filter(|turn| turn.next(1).is_ok()).count();
        assert_eq!(joined, 8);
        let other = of(2);
        assert!(other.next(1).is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_long_call_goes_on_where_it_holds_up_nobody_and_matters_less() {
        let turn = InstanceTurn::new(Some(FairScheduler::new(1, 8)), module(1));
        let (other, heard) = mpsc::channel();
        let mut tasks = JoinSet::new();
        let guest = turn.clone();
        // The only task thread would be blocked here until the other task has run.
        tasks.spawn(turn.taking(async move {
            next(&guest).await;
            heard.recv().expect("the other task runs");
            assert_eq!(thread::current().name(), Some(COMPUTING));
            #[cfg(target_os = "linux")]
            {
                assert_eq!(rustix::process::getpriority_process(None), Ok(NICENESS));
                take_long_slices().expect("lowering the priority is allowed");
            }
        }));
        tasks.spawn(async move { other.send(()).expect("it is heard") });
        while let Some(ended) = tasks.join_next().await {
            ended.expect("no panic");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_long_call_that_nobody_waits_for_any_more_is_dropped() {
        let turn = InstanceTurn::new(Some(FairScheduler::new(1, 8)), module(1));
        let (begun, begins) = oneshot::channel();
        let (held, dropped) = oneshot::channel::<()>();
        let guest = turn.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(turn.taking(async move {
            let _held = held;
            next(&guest).await;
            begun.send(()).expect("the test waits");
            loop {
                next(&guest).await;
            }
        }));
        begins.await.expect("it begins");
        tasks.abort_all();
        assert!(dropped.await.is_err(), "it was dropped, and said nothing");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    #[should_panic(expected = "out of nowhere")]
    async fn a_panic_in_a_long_call_is_that_of_who_waits_for_it() {
        let turn = InstanceTurn::new(Some(FairScheduler::new(1, 8)), module(1));
        let guest = turn.clone();
        let call = async move {
            next(&guest).await;
            panic!("out of nowhere");
        };
        turn.taking(call).await
    }
}
