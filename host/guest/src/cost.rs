//! What the code of a module costs, counted and not timed: the same on every machine.

use wasmtime::Store;

/// What an instance used up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Wasm instructions, those that set the instance up included. A few that cost nothing, such as
    /// the ends of blocks, do not count.
    pub instructions: u64,
    /// Bytes of its linear memories and tables, which only grow.
    pub memory_bytes: u64,
}

/// Lets the instance of `store`, whose engine counts, go on for ever.
pub(super) fn begin<T>(store: &mut Store<T>) {
    store.set_fuel(u64::MAX).expect("its engine counts");
}

/// How many instructions were executed in `store`; `None`: its engine does not count.
pub(super) fn instructions<T>(store: &Store<T>) -> Option<u64> {
    Some(u64::MAX - store.get_fuel().ok()?)
}
