//! A real host that makes a snapshot after each record, and is killed repeatedly.

use segno_api::model::{InvocationState, ReplayVerdict};
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use serde_json::{Value as Json, json};
use tests::{guests, test_host::TestHost};

use super::javascript;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Number of kills.
const KILLS: usize = 12;

/// A host's count of the snapshot event `event`.
async fn counted(host: &TestHost, event: &str) -> u64 {
    let answer = reqwest::get(format!("{}/metrics", host.client().server())).await;
    let text = answer.expect("the host answers").text().await.expect("it is text");
    let name = format!("segno_snapshots_total{{event=\"{event}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |number| number.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_goes_on_from_its_snapshots_in_rust_and_javascript() {
    let arguments = ["--limit", "snapshot_records=1"];
    let mut host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
    for guest in ["parts", "herald", "planted"] {
        host.deploy(guest, guests::component(guest)).await;
    }
    host.deploy("js", javascript().to_vec()).await;
    let offer = json!({ "goods": ["apple", "cheese", "gold"], "pause_ms": 4_000 });
    let flows = [
        ("turns", "parts/turns", json!({ "steps": 20, "turns": 6 })),
        ("chain", "parts/chain", json!({ "children": 30 })),
        ("announce", "herald/announce", json!([12, 400])),
        ("order", "planted/in_order", json!(["a", "b", "c"])),
        ("offer", "js/offer", offer),
    ];
    for (id, target, input) in &flows {
        host.start_as(id, target, input.clone()).await.expect("it starts");
    }
    let (mut made, mut restored) = (0, 0);
    for kill in 0..KILLS {
        host.env.runtime.sleep(Millis(1_500)).await;
        // The first snapshot waits for the compilation of code that exposes the instance's memory.
        while kill == 0 && counted(&host, "made").await == 0 {
            host.env.runtime.sleep(Millis(100)).await;
        }
        made += counted(&host, "made").await;
        restored += counted(&host, "restored").await;
        assert_eq!(counted(&host, "unequal").await, 0);
        host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
        if kill % 2 == 1 {
            // The promise may not be awaited yet. Its settlement is kept then.
            let promise = format!("turns/p/turn-{}", kill / 2);
            host.client().resolve(&promise, Json::Null).await.expect("it is taken");
        }
    }
    for (id, expected) in [
        ("turns", json!(6)),
        ("chain", json!(435)),
        ("announce", json!(12)),
        ("order", json!(["a done", "b done", "c done"])),
    ] {
        let ended = host.ended(id).await;
        assert_eq!(
            (ended.state, ended.output),
            (InvocationState::Resolved, Some(expected)),
            "{id}"
        );
    }
    let offered = host.ended("offer").await.output.expect("it is made");
    assert_eq!((&offered["total"], &offered["missing"]), (&json!(830), &json!(["gold"])));
    for (id, ..) in flows {
        let replay = host.client().replay(id, None).await.expect("it can be replayed");
        assert_eq!(replay.verdict, ReplayVerdict::Identical, "{id}: {replay:#?}");
        assert_eq!(replay.matched, replay.journal_len, "{id}");
    }
    restored += counted(&host, "restored").await;
    assert!(made > 0 && restored > 0, "{made} were made, and {restored} restored");
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
