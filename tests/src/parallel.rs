//! Work that is spread over the processors.

use std::{sync::Mutex, thread};

/// Runs `work` on each item, with one thread per processor.
///
/// # Panics
/// If `work` panics.
pub fn for_each<T: Send>(items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = items.lock().expect("no thread panics with it").next();
                    let Some(item) = next else { return };
                    work(item);
                }
            });
        }
    });
}
