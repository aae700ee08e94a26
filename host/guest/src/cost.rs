//! The cost of a module's code in instructions and memory, counted instead of timed: the same on
//! every machine.

use wasmtime::Store;

/// The resources that an instance has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Executed wasm instructions, including those that set the instance up. A few free ones, such
    /// as the ends of blocks, do not count.
    pub instructions: u64,
    /// Size of the instance's linear memories and tables, in bytes; they only grow.
    pub memory_bytes: u64,
}

/// Gives the instance of `store`, whose engine counts, an unlimited number of instructions.
pub(super) fn begin<T>(store: &mut Store<T>) {
    store.set_fuel(u64::MAX).expect("its engine counts");
}

/// Number of instructions executed in `store`. `None` if its engine does not count.
pub(super) fn instructions<T>(store: &Store<T>) -> Option<u64> {
    Some(u64::MAX - store.get_fuel().ok()?)
}
