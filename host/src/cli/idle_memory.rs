//! Returns free memory to the system when the process is idle.
//!
//! A thread keeps the memory that it freed for its next allocations, and an idle thread makes none.
//! So the threads of a host are asked when it has been idle for a while, and some more times,
//! because caches are emptied in the meantime. The program's own pages, a third of what a busy host
//! has in memory, are given back with it, and also when the host has started: most of them were
//! needed for that only.

use std::{num::NonZeroUsize, thread::available_parallelism};

use rustix::time::{ClockId, clock_gettime};
use segno_core::time::Millis;
use segno_env::{Env, answer_heap, ask_heaps};
use segno_guest::release_program_pages;

/// Period of the idle check.
const PERIOD: Millis = Millis::seconds(5);
/// Period of the idle check after the start, until the process is idle for the first time.
const FIRST_PERIOD: Millis = Millis(200);
/// Maximum number of first periods.
const FIRST_PERIODS: u32 = 25;
/// Part of the time up to which a process that uses the processor is idle: one in this number.
const IDLE_PART: i64 = 50;
/// Number of idle periods in which the threads are asked.
const ROUNDS: u32 = 4;

/// Gives back what the start needed, and then whatever is free when the process is idle.
pub(super) fn start(env: &Env) {
    release_program_pages();
    env.runtime.spawn("idle memory", Box::pin(release(env.clone())));
}

/// Runs until the process ends.
async fn release(env: Env) {
    let mut check = IdleCheck { env: &env, before: processor_us() };
    for _ in 0..FIRST_PERIODS {
        if check.is_idle_for(FIRST_PERIOD).await {
            give_back(&env);
            break;
        }
    }
    let mut rounds = ROUNDS;
    loop {
        if !check.is_idle_for(PERIOD).await {
            rounds = ROUNDS;
        } else if rounds > 0 {
            rounds -= 1;
            give_back(&env);
        }
    }
}

/// Returns the free memory of all threads and the program's pages.
fn give_back(env: &Env) {
    let threads = available_parallelism().map_or(1, NonZeroUsize::get);
    ask_heaps();
    release_program_pages();
    // Threads that wait answer when they wake: there are enough tasks for all of them.
    for _ in 0..2 * threads {
        env.runtime.spawn("idle memory", Box::pin(async { answer_heap() }));
    }
}

/// Watches the processor time of this process.
struct IdleCheck<'a> {
    env: &'a Env,
    /// Processor time at the last look, in microseconds.
    before: i64,
}

impl IdleCheck<'_> {
    /// Waits for a period. Returns true if the process was idle.
    async fn is_idle_for(&mut self, period: Millis) -> bool {
        self.env.runtime.sleep(period).await;
        let now = processor_us();
        let used = now - std::mem::replace(&mut self.before, now);
        used <= period.0 * 1_000 / IDLE_PART
    }
}

/// Processor time of this process in microseconds.
fn processor_us() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
