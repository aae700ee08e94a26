//! Modules are unloaded when a crowd of instances has left, so that the pool releases memory.

use std::path::Path;

use segno_core::time::Millis;
use segno_env::{Env, SystemRuntime};

use super::{guests::workflow, *};
use crate::idle_modules::KEPT_BYTES;

/// Waits until unused places of the pool have at most this many bytes. Returns false if they have
/// more after that time.
async fn has_at_most(wasm: &Wasm, bytes: usize, within: Millis) -> bool {
    let env = Env::system();
    let has = async {
        while wasm.engine.idle_bytes() > bytes {
            env.runtime.sleep(Millis(5)).await;
        }
    };
    env.within(within, has).await.is_some()
}

/// A host that unloads modules.
fn host_of(components: &[&Arc<[u8]>], directory: &Path) -> Wasm {
    host_with(components, |config| {
        config.limits.instances = 60;
        config.cache_dir = Some(directory.to_owned());
        config.ahead = Some(Arc::new(SystemRuntime));
    })
}

/// A module whose instances write to four pages of their memory.
fn writing() -> Arc<[u8]> {
    let write = |page: u32| format!("(i32.store (i32.const {}) (i32.const 1))", page << 12);
    Guest::starting(&(8..12).map(write).collect::<String>()).component()
}

/// Runs this many instances at once, and drops them.
async fn crowd(wasm: &Wasm, module: Digest, count: usize) {
    let mut crowd = Vec::new();
    for _ in 0..count {
        let mut instance = wasm.instantiate(module, None).await.expect("it begins");
        let script = Script::default();
        instance.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
        crowd.push(instance);
    }
}

#[tokio::test]
async fn a_crowd_that_has_left_keeps_no_memory_of_the_pool() {
    let directory = tempfile::tempdir().expect("a directory");
    let other = Guest { functions: vec![workflow("other")], ..Guest::default() };
    let (one, other) = (writing(), other.component());
    let wasm = host_of(&[&one, &other], directory.path());
    // Another module stays loaded, because it has an instance.
    let _running = wasm.instantiate(Digest::of(&other), None).await.expect("it begins");
    for _ in 0..2 {
        // The second crowd runs on the module as it was loaded again.
        crowd(&wasm, Digest::of(&one), 40).await;
        assert!(!has_at_most(&wasm, KEPT_BYTES, Millis(50)).await);
        assert!(has_at_most(&wasm, 32 << 10, Millis(20_000)).await, "{}", wasm.engine.idle_bytes());
    }
}

#[tokio::test]
async fn a_module_of_few_instances_stays_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    let module = writing();
    let wasm = host_of(&[&module], directory.path());
    crowd(&wasm, Digest::of(&module), 4).await;
    let kept = wasm.engine.idle_bytes();
    assert!(kept > 0 && !has_at_most(&wasm, kept - 1, Millis(1_500)).await, "{kept}");
}
