//! Unloads modules that are not used, so that the pool releases their memory.
//!
//! wasmtime keeps the first pages of each place that an instance had, for the next instance of the
//! same module, and releases them with the module. After a crowd of instances these are more than a
//! quiet host should keep. Loading the module again takes some milliseconds.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use segno_core::time::Millis;
use segno_env::Runtime;

use super::{engine::GuestEngine, modules::ModuleStore};

/// Time without a request for any module, after which modules are unloaded.
const REST: Millis = Millis(if cfg!(test) { 300 } else { 5_000 });
/// Bytes of memory in unused places that a quiet host keeps.
pub(super) const KEPT_BYTES: usize = if cfg!(test) { 256 << 10 } else { 1 << 20 };

/// Watches for a time without requests, while there may be something to unload.
#[derive(Default)]
pub(super) struct IdleModules {
    is_watched: Arc<AtomicBool>,
}

impl IdleModules {
    /// Starts to watch, unless a task does it already.
    pub(super) fn watch(
        &self,
        runtime: &Arc<dyn Runtime>,
        engine: &Arc<GuestEngine>,
        modules: &Arc<ModuleStore>,
    ) {
        if self.is_watched.load(Ordering::Relaxed) || self.is_watched.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let watched = Arc::clone(&self.is_watched);
        let (engine, modules) = (Arc::downgrade(engine), Arc::downgrade(modules));
        let sleeping = Arc::clone(runtime);
        let task = async move {
            rest(&*sleeping, &modules).await;
            watched.store(false, Ordering::Relaxed);
            let Some((engine, modules)) = engine.upgrade().zip(modules.upgrade()) else { return };
            let bytes = engine.idle_bytes();
            tracing::debug!(bytes, "no module was used for a while");
            if bytes > KEPT_BYTES {
                modules.unload_idle();
            }
        };
        runtime.spawn("idle-modules", Box::pin(task));
    }
}

/// Waits until no module was requested for [`REST`].
async fn rest(runtime: &dyn Runtime, modules: &Weak<ModuleStore>) {
    let uses = || modules.upgrade().map(|modules| modules.uses());
    let mut before = uses();
    loop {
        runtime.sleep(REST).await;
        let now = uses();
        if now == before {
            return;
        }
        before = now;
    }
}
