//! Modules are unloaded when a crowd of instances has left, so that the pool releases memory.

use segno_core::time::Millis;
use segno_env::{Env, SystemRuntime};

use super::{guests::workflow, *};

/// Has this many instances at once, and drops them.
async fn crowd(wasm: &Wasm, module: Digest, count: usize) {
    let mut crowd = Vec::new();
    for _ in 0..count {
        crowd.push(wasm.instantiate(module, None).await.expect("it begins"));
    }
}

/// Waits until the number of places with memory and no instance is right. Returns false if it is
/// not `within` that time.
async fn has_warm_places(wasm: &Wasm, within: Millis, is_right: impl Fn(u32) -> bool) -> bool {
    let env = Env::system();
    let right = async {
        while !is_right(wasm.engine.warm_places()) {
            env.runtime.sleep(Millis(5)).await;
        }
    };
    env.within(within, right).await.is_some()
}

#[tokio::test]
async fn a_crowd_that_has_left_keeps_no_memory_of_the_pool() {
    let directory = tempfile::tempdir().expect("a directory");
    let other = Guest { functions: vec![workflow("other")], ..Guest::default() };
    let (one, other) = (Guest::default().component(), other.component());
    let wasm = host_with(&[&one, &other], |config| {
        config.limits.instances = 60;
        config.cache_dir = Some(directory.path().to_owned());
        config.ahead = Some(Arc::new(SystemRuntime));
    });
    let _running = wasm.instantiate(Digest::of(&other), None).await.expect("it begins");
    for _ in 0..2 {
        crowd(&wasm, Digest::of(&one), 40).await;
        assert!(wasm.engine.warm_places() >= 40, "{}", wasm.engine.warm_places());
        // The place in which the other module described itself stays.
        assert!(has_warm_places(&wasm, Millis(20_000), |places| places <= 2).await);
    }
    // What is loaded again runs.
    let mut again = wasm.instantiate(Digest::of(&one), None).await.expect("it begins");
    let script = Script::default();
    again.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
}

#[tokio::test]
async fn a_module_of_few_instances_stays_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    let module = Guest::default().component();
    let wasm = host_with(&[&module], |config| {
        config.cache_dir = Some(directory.path().to_owned());
        config.ahead = Some(Arc::new(SystemRuntime));
    });
    crowd(&wasm, Digest::of(&module), 2).await;
    assert!(!has_warm_places(&wasm, Millis(1_500), |places| places < 2).await);
}
