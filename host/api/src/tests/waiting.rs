use segno_core::{command::Command, promise::Verdict, value::Value as Stored};
use serde_json::json;

use super::ApiWorld;

async fn finish(world: &ApiWorld, id: &str) {
    let claim = world.acquire(id).await;
    let (verdict, value) = (Verdict::Resolved, Stored::of(&b"7"[..]));
    world
        .command(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_invocation() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let wait = world.get("/v1/invocations/a/wait?timeout_ms=300000");
    let later = async {
        // Long enough for the wait to have begun.
        tokio::task::yield_now().await;
        world.api.host.env.runtime.sleep(segno_core::time::Millis(50)).await;
        finish(&world, "a").await;
    };
    let (answer, ()) = futures::join!(wait, later);
    assert_eq!(answer.ok()["output"], 7);
}

#[tokio::test(start_paused = true)]
async fn a_halted_invocation_is_not_waited_for() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    world.halt("a").await;
    let again =
        json!({ "id": "a", "target": "shop/ship", "input": { "no": 1 }, "wait_ms": 300_000 });
    let both = async {
        let waited = world.get("/v1/invocations/a/wait?timeout_ms=300000").await.ok();
        (waited, world.post("/v1/invocations", again).await.ok()["invocation"].clone())
    };
    let answered = world.api.host.env.within(segno_core::time::Millis(1_000), both).await;
    let (waited, started) = answered.expect("both are answered at once");
    assert_eq!((&waited["state"], &started["state"]), (&json!("halted"), &json!("halted")));
}

#[tokio::test]
async fn no_settlement_is_missed_whenever_it_comes() {
    let world = ApiWorld::shop().await;
    for round in 0..200 {
        let id = format!("a{round}");
        world.start(&id).await.ok();
        let path = format!("/v1/invocations/{id}/wait?timeout_ms=20000");
        let finish = async {
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            finish(&world, &id).await;
        };
        let both = async { futures::join!(world.get(&path), finish) };
        let answered = world.api.host.env.within(segno_core::time::Millis(10_000), both).await;
        let (answer, ()) = answered.expect("the wait ends with the settlement, not with its limit");
        assert_eq!(answer.ok()["state"], "resolved");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_limit_and_when_the_host_stops() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let answer = world.get("/v1/invocations/a/wait?timeout_ms=0").await.ok();
    assert_eq!(answer["state"], "pending");
    let answer = world.get("/v1/invocations/a/wait?timeout_ms=5000").await.ok();
    assert_eq!(answer["state"], "pending");
    let body = json!({ "id": "a", "target": "shop/ship", "input": { "no": 1 }, "wait_ms": 5000 });
    assert_eq!(world.post("/v1/invocations", body).await.ok()["invocation"]["state"], "pending");
    let stop = async { world.api.stopping.cancel() };
    let wait = world.get("/v1/invocations/a/wait?timeout_ms=300000");
    let ended = tokio::select! {
        biased;
        (answer, ()) = async { futures::join!(wait, stop) } => answer,
        () = world.api.host.env.runtime.sleep(segno_core::time::Millis(1000)) => {
            panic!("the wait outlived the host")
        }
    };
    assert_eq!(ended.ok()["state"], "pending");
    world.get("/ready").await.problem(503, "not-ready");
    assert_eq!(world.get("/health").await.ok()["status"], "ok");
}
