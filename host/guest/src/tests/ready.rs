//! Instances of source modules that are made before they are asked for.

use segno_core::{invocation::EngineFacts, source_module::SourceModule, time::Millis};
use segno_env::{Env, SystemRuntime};

use super::*;

/// A host of this many instances, which makes some of them ahead.
fn host_of(instances: u32, components: &[&Arc<[u8]>]) -> Wasm {
    host_with(components, |config| {
        config.limits.instances = instances;
        config.ahead = Some(Arc::new(SystemRuntime));
    })
}

/// A runtime whose functions count their calls in memory, and trap beyond the first one.
fn counting_runtime() -> Arc<[u8]> {
    let runtime = Guest {
        items: r#"(func (export "segno:workflow/loader@0.2.0#load") (param i32 i32) (result i32)
              (i32.const 30000))"#
            .into(),
        start: "(i32.store (i32.const 31000) (i32.add (i32.load (i32.const 31000)) (i32.const 1)))
            (if (i32.ne (i32.load (i32.const 31000)) (i32.const 1)) (then unreachable))
            (if (i32.ne (memory.grow (i32.const 1)) (i32.const 2)) (then unreachable))"
            .into(),
        describes: &["loader"],
        ..Guest::default()
    };
    runtime.component()
}

fn module(runtime: &Arc<[u8]>, content: &str) -> Arc<[u8]> {
    let files = vec![("a".to_owned(), content.into())];
    SourceModule::new(Digest::of(runtime), files).expect("it is a module").encode().into()
}

async fn started(wasm: &Wasm, module: &Arc<[u8]>) -> Box<dyn Workflow> {
    let mut instance = wasm.instantiate(Digest::of(module), None).await.expect("it begins");
    let script = Script::default();
    instance.start(script.shared(), "main", json("1"), context(1)).await.expect("it starts");
    instance
}

/// Waits until this number of instances can be made.
async fn until_free(wasm: &Wasm, slots: usize) {
    let env = Env::system();
    let free = async {
        while wasm.free_slots() != slots {
            env.runtime.sleep(Millis(1)).await;
        }
    };
    let waited = env.within(Millis(20_000), free).await;
    waited.unwrap_or_else(|| panic!("{} slots are free, and not {slots}", wasm.free_slots()));
}

#[tokio::test]
async fn the_next_instance_is_ready_and_as_good_as_a_new_one() {
    let runtime = counting_runtime();
    let (one, other) = (module(&runtime, "1"), module(&runtime, "2"));
    let wasm = host_of(20, &[&runtime, &one, &other]);
    let mut kept = Vec::new();
    for n in 1..=5 {
        kept.push(started(&wasm, &one).await);
        // Those that run, and the next one.
        until_free(&wasm, 20 - n - 1).await;
    }
    kept.push(started(&wasm, &other).await);
    until_free(&wasm, 20 - 6 - 2).await;
    drop(kept);
    // Both are removed when nobody asks for them.
    until_free(&wasm, 20).await;
    // Each of these but the first waits for the instance that is made after another has begun.
    let starts = (0..6).map(|_| started(&wasm, &one));
    let _kept = futures::future::join_all(starts).await;
    until_free(&wasm, 20 - 6 - 1).await;
}

#[tokio::test]
async fn an_instance_that_nobody_uses_makes_room() {
    let runtime = counting_runtime();
    let (one, other) = (module(&runtime, "1"), module(&runtime, "2"));
    let wasm = host_of(2, &[&runtime, &one, &other]);
    wasm.inspect(Arc::clone(&other)).await.expect("it is fine");
    for _ in 0..3 {
        let first = started(&wasm, &one).await;
        until_free(&wasm, 0).await;
        let second = Env::system().within(Millis(20_000), started(&wasm, &other)).await;
        drop((first, second.expect("the one that is ready is removed")));
    }
}

#[tokio::test]
async fn an_execution_that_began_under_other_limits_has_its_own_instance() {
    let runtime = counting_runtime();
    let module = module(&runtime, "1");
    let wasm = host_of(20, &[&runtime, &module]);
    let _first = started(&wasm, &module).await;
    until_free(&wasm, 20 - 2).await;
    let facts = EngineFacts { memory_limit_bytes: 2 << 16, ..wasm.engine_facts() };
    let limited = wasm.instantiate(Digest::of(&module), Some(facts)).await;
    let script = Script::default();
    let mut limited = limited.expect("it begins");
    let started = limited.start(script.shared(), "main", json("1"), context(1)).await;
    assert!(started.is_err(), "it may not grow");
}
