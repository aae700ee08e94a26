use serde_json::json;

use super::World;
use crate::api::AdmissionLimits;

#[tokio::test]
async fn a_command_too_many_is_refused_and_told_when_to_come_again() {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    let world = World::shop().await.admitting(limits);
    let start = json!({ "target": "shop/ship", "id": "one" });

    let busy = world.api.admission.command().expect("there is room for one");
    let answer = world.post("/v1/invocations", start.clone()).await;
    assert!(answer.problem(503, "overloaded").contains("nothing was done"));
    assert_eq!(answer.retry_after.as_deref(), Some("1"));

    drop(busy);
    world.get("/v1/invocations/one").await.problem(404, "unknown-invocation");
    assert_eq!(world.post("/v1/invocations", start).await.status, 201);
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
