//! Free memory that the allocator keeps for each thread.
//!
//! An allocator with a heap for each thread lets only the thread itself return free memory to the
//! system, and does that as it allocates. So a thread that has no more work keeps what its busiest
//! time left. The process sets what a thread does to return it, and asks all threads when it is
//! idle; each thread looks before it waits for work.

use std::{
    cell::Cell,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

static COLLECTOR: OnceLock<fn()> = OnceLock::new();
/// Number of times that the threads were asked.
static ASKED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The value of [`ASKED`] at this thread's last collection.
    static ANSWERED: Cell<u32> = const { Cell::new(0) };
}

/// Sets the function that returns the calling thread's free memory to the system. Only the first
/// call has an effect.
pub fn set_heap_collector(collector: fn()) {
    let _ = COLLECTOR.set(collector);
}

/// Asks every thread to return its free memory before it next waits for work.
pub fn ask_heaps() {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

/// Returns this thread's free memory to the system, if it was asked since the last time. Takes up
/// to some milliseconds then, and nanoseconds otherwise.
pub fn answer_heap() {
    let asked = ASKED.load(Ordering::Relaxed);
    if ANSWERED.replace(asked) == asked {
        return;
    }
    collect_heap();
}

/// Returns this thread's free memory to the system.
pub fn collect_heap() {
    if let Some(collector) = COLLECTOR.get() {
        collector();
    }
}

#[cfg(test)]
mod tests {
    use super::{answer_heap, ask_heaps, set_heap_collector};
    use std::cell::Cell;

    thread_local! {
        static COLLECTIONS: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn each_thread_answers_once_each_time_that_all_are_asked() {
        set_heap_collector(|| COLLECTIONS.set(COLLECTIONS.get() + 1));
        let answers = || {
            answer_heap();
            answer_heap();
            COLLECTIONS.get()
        };
        assert_eq!(answers(), 0);
        ask_heaps();
        assert_eq!(answers(), 1);
        assert_eq!(std::thread::spawn(answers).join().expect("it ends"), 1);
        ask_heaps();
        assert_eq!(answers(), 2);
    }
}
