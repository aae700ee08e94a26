use std::pin::pin;

use futures::poll;
use serde_json::json;

use super::World;
use crate::api::AdmissionLimits;

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_in_vain_is_refused_and_told_when_to_come_again() {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    let world = World::shop().await.admitting(limits);
    let start = json!({ "target": "shop/ship", "id": "one" });

    let busy = world.api.room().await.expect("there is room for one");
    let answer = world.post("/v1/invocations", start.clone()).await;
    assert!(answer.problem(503, "overloaded").contains("nothing was done"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));

    drop(busy);
    world.get("/v1/invocations/one").await.problem(404, "unknown-invocation");
    assert_eq!(world.post("/v1/invocations", start).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_gets_it_in_turn() {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    let world = World::shop().await.admitting(limits);
    let start =
        |id: &str| world.post("/v1/invocations", json!({ "target": "shop/ship", "id": id }));

    let busy = world.api.room().await.expect("there is room for one");
    let (mut first, mut second) = (pin!(start("first")), pin!(start("second")));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    drop(busy);
    assert_eq!(first.await.status, 201);
    assert_eq!(second.await.status, 201);
}

#[tokio::test]
async fn bodies_share_one_room_and_give_it_back() {
    let limits = AdmissionLimits { body_bytes: 200, ..AdmissionLimits::default() };
    let world = World::shop().await.admitting(limits);
    let start = |id: String| json!({ "target": "shop/ship", "id": id });

    let answer = world.post("/v1/invocations", start("x".repeat(200))).await;
    assert!(answer.problem(503, "overloaded").contains("bodies"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));
    for number in 0..10 {
        let answer = world.post("/v1/invocations", start(format!("small-{number}"))).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    let mut busy = world.api.admission.body();
    busy.grow(190).expect("nothing else is read");
    world.post("/v1/invocations", start("next".to_owned())).await.problem(503, "overloaded");
}
