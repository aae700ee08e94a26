//! Returns free memory to the system when the process is idle.
//!
//! A thread keeps the memory that it freed for its next allocations, and an idle thread makes none.
//! So the threads of a host are asked when it has been idle for a while, and some more times,
//! because caches are emptied in the meantime. The program's own pages, a third of what a busy host
//! has in memory, are given back with it, and also when the host has started.

use std::{num::NonZeroUsize, thread::available_parallelism};

use rustix::time::{ClockId, clock_gettime};
use segno_core::time::Millis;
use segno_env::{Env, answer_heap, ask_heaps};
use segno_guest::release_program_pages;

/// Period of the idle check.
const PERIOD: Millis = Millis::seconds(5);
/// Processor time within a period up to which the process is idle, in microseconds.
const IDLE_US: i64 = 100_000;
/// Number of idle periods in which the threads are asked.
const ROUNDS: u32 = 4;

/// Runs until the process ends.
pub(super) async fn release(env: Env) {
    let threads = available_parallelism().map_or(1, NonZeroUsize::get);
    let (mut before, mut rounds) = (processor_us(), ROUNDS);
    release_program_pages();
    loop {
        env.runtime.sleep(PERIOD).await;
        let now = processor_us();
        let used = now - std::mem::replace(&mut before, now);
        if used > IDLE_US {
            rounds = ROUNDS;
        } else if rounds > 0 {
            rounds -= 1;
            ask_heaps();
            release_program_pages();
            // Threads that wait answer when they wake: there are enough tasks for all of them.
            for _ in 0..2 * threads {
                env.runtime.spawn("idle memory", Box::pin(async { answer_heap() }));
            }
        }
    }
}

/// Processor time of this process in microseconds.
fn processor_us() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}
