//! The guest contract without the SDK: a module written in the text format, wrapped as any
//! toolchain does it, on a real host. Other languages are tried by `other-languages.sh` beside
//! this, which needs their compilers.

use std::path::Path;

use segno::api::model::{Invocation, InvocationState, ReplayVerdict};
use serde_json::json;
use tests::test_host::TestHost;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

const MODULE: &str = include_str!("../../examples/other-languages/wat/module.wat");

/// `wasm-tools component embed guest-sdk/wit module.wat`, then `wasm-tools component new`.
fn component() -> Vec<u8> {
    let mut core = wat::parse_str(MODULE).expect("the module is well formed");
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/wit");
    let (package, _) = resolve.push_dir(wit).expect("the contract is well formed");
    let world = resolve.select_world(&[package], Some("module")).expect("it has one world");
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)
        .expect("the contract can be embedded");
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(&core).expect("the module fits the contract");
    encoder.encode().expect("it can be wrapped")
}

fn waits_for(promise: &str) -> impl Fn(&Invocation) -> bool {
    move |seen| seen.waits.iter().any(|wait| wait.id == promise)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_written_by_hand_survives_a_kill_and_replays() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("hand", component()).await;
    let input = json!({ "text": "žluťoučký", "numbers": [1, 2, 3] });
    host.start_as("one", "hand/main", input.clone()).await.expect("it starts");
    host.until("one", "waiting for its call", waits_for("one/1")).await;

    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));

    let ended = host.ended("one").await;
    assert_eq!((ended.state, ended.output), (InvocationState::Resolved, Some(input)));
    let replay = host.client().replay("one", None).await.expect("it can be replayed");
    assert_eq!(replay.verdict, ReplayVerdict::Identical, "{replay:#?}");
    // Started, run, call, the two completions, finished.
    assert_eq!((replay.matched, replay.journal_len), (6, 6), "{replay:#?}");
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_written_by_hand_hears_that_it_is_cancelled() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("hand", component()).await;
    host.start_as("one", "hand/main", json!(1)).await.expect("it starts");
    host.until("one", "waiting for its call", waits_for("one/1")).await;
    host.client().cancel("one").await.expect("it runs");
    let ended = host.ended("one").await;
    let failure = ended.failure.expect("it failed");
    assert_eq!((failure.code, &*failure.message), (499, "cancelled"));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
