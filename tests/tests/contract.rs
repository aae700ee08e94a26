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

/// A component of every version of the contract before this one, as it was built then: the workflows
/// of `host/bench/guest`.
const OLDER: &[(&str, &[u8])] = &[("0.1.0", include_bytes!("../contract/0.1.0.wasm"))];

#[tokio::test(flavor = "multi_thread")]
async fn components_of_older_versions_run_go_on_after_a_kill_and_replay() {
    for (version, component) in OLDER {
        let names = |name: &[u8]| component.windows(name.len()).any(|part| part == name);
        assert!(names(format!("segno:workflow/functions@{version}").as_bytes()), "{version}");
        let mut host = TestHost::start(SEGNO).await;
        host.deploy("old", component.to_vec()).await;
        host.start_as("chain", "old/chain", json!({ "children": 5 })).await.expect("it starts");
        let waiting = json!({ "steps": 3, "turns": 2 });
        host.start_as("turns", "old/turns", waiting).await.expect("it starts");
        host.until("turns", "waiting for its turn", waits_for("turns/p/turn-0")).await;

        host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));

        for turn in ["turns/p/turn-0", "turns/p/turn-1"] {
            host.until("turns", "waiting for its turn", waits_for(turn)).await;
            host.client().resolve(turn, json!(null)).await.expect("it is awaited");
        }
        for (id, output) in [("chain", json!(10)), ("turns", json!(2))] {
            let ended = host.ended(id).await;
            assert_eq!(ended.state, InvocationState::Resolved, "{version}: {ended:#?}");
            assert_eq!(ended.output, Some(output), "{version}: {ended:#?}");
            let replay = host.client().replay(id, None).await.expect("it can be replayed");
            assert_eq!(replay.verdict, ReplayVerdict::Identical, "{version}: {replay:#?}");
            assert_eq!(replay.matched, replay.journal_len, "{version}: {replay:#?}");
        }
        host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}
