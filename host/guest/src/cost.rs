//! What the code of a module costs, counted and not timed: the same on every machine.

use std::sync::Arc;

use wasmtime::Store;

use super::{GuestError, Guests, Limits, Wasm, WasmConfig};

/// Instances that are counted at a time: a counting engine is there for a few replays.
const INSTANCES: u32 = 64;

/// What an instance used up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Wasm instructions, those that set the instance up included. A few that cost nothing, such as
    /// the ends of blocks, do not count.
    pub instructions: u64,
    /// Bytes of its linear memories and tables, which only grow.
    pub memory_bytes: u64,
}

impl Wasm {
    /// The same modules on an engine that counts instructions. The code for that is compiled, and
    /// kept, beside the other; it takes longer to run.
    pub(super) fn counting(&self) -> Result<Arc<dyn Guests>, GuestError> {
        let limits = Limits { instances: INSTANCES, ..(*self.limits).clone() };
        let config = WasmConfig { limits, counts: true, ..self.config.clone() };
        Ok(Arc::new(Self::new(config)?))
    }
}

/// Lets the instance of `store`, whose engine counts, go on for ever.
pub(super) fn begin<T>(store: &mut Store<T>) {
    store.set_fuel(u64::MAX).expect("its engine counts");
}

/// How many instructions were executed in `store`; `None`: its engine does not count.
pub(super) fn instructions<T>(store: &Store<T>) -> Option<u64> {
    Some(u64::MAX - store.get_fuel().ok()?)
}
