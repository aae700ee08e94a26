//! The guest side with hand-made components: successful, stopped and refused calls.

mod activity;
mod cache;
mod commits;
mod cost;
mod function_limits;
mod guests;
mod http_bodies;
mod idle_modules;
mod journal;
mod limits;
mod mutations;
mod pool;
mod ready;
mod running;
mod runs;
mod snapshot;
mod sources;
mod upload;
mod wasi;

use std::{collections::BTreeMap, sync::Arc};

use segno_core::id::Digest;

use super::{
    Compiler, Context, GuestError, Guests, Limits, Payload, PolicySource, Wasm, WasmConfig,
    Workflow,
};
use guests::Guest;
use journal::Script;

/// A host of `components`, with small limits so that tests reach them fast.
fn host(components: &[&Arc<[u8]>]) -> Wasm {
    host_with(components, |_| {})
}

fn host_with(components: &[&Arc<[u8]>], change: impl FnOnce(&mut WasmConfig)) -> Wasm {
    let source: BTreeMap<Digest, Arc<[u8]>> =
        components.iter().map(|bytes| (Digest::of(bytes), Arc::clone(bytes))).collect();
    let limits = Limits {
        memory_bytes: 4 << 20,
        stack_bytes: 256 << 10,
        cpu_ms: 200,
        output_bytes: 64 << 10,
        log_line_bytes: 100,
        log_bytes: 10_000,
        component_bytes: 4 << 20,
        instances: 8,
        ..Limits::default()
    };
    let mut config = WasmConfig {
        limits,
        policy: PolicySource::default(),
        cache_dir: None,
        compiler: Compiler::Thread,
        fair: true,
        counts: false,
        ahead: None,
        source: Arc::new(source),
    };
    change(&mut config);
    Wasm::new(config).expect("the engine can be set up")
}

async fn instantiate(wasm: &Wasm, component: &Arc<[u8]>) -> Box<dyn Workflow> {
    wasm.instantiate(Digest::of(component), None).await.expect("it can be instantiated")
}

fn context(seed: u8) -> Context {
    Context {
        invocation: "order-1".into(),
        parent: None,
        started_at_ms: 1_000,
        seed: vec![seed; 32],
    }
}

fn json(text: &str) -> Payload {
    Payload::Json(text.into())
}

/// Starts `function` of a guest; the journal and the result.
async fn start(guest: &Guest, function: &str) -> (Script, Result<(), GuestError>) {
    let component = guest.component();
    let wasm = host(&[&component]);
    let mut instance = instantiate(&wasm, &component).await;
    let script = Script::default();
    let ended = instance.start(script.shared(), function, json("1"), context(1)).await;
    (script, ended)
}
