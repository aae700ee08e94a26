use serde_json::json;

use super::World;

#[tokio::test]
async fn a_promise_settles_once() {
    let world = World::new();
    world.gate("a/p/approval").await;
    let path = "/v1/promises/a%2Fp%2Fapproval";
    assert_eq!(world.get(path).await.ok()["state"], "pending");
    let first =
        world.post(&format!("{path}/resolve"), json!({ "value": { "yes": true } })).await.ok();
    assert_eq!((&first["state"], &first["changed"]), (&json!("resolved"), &json!(true)));
    let second = world.post(&format!("{path}/reject"), json!({})).await.ok();
    assert_eq!((&second["state"], &second["changed"]), (&json!("resolved"), &json!(false)));
    assert_eq!(second["value"], json!({ "yes": true }));
    assert_eq!(world.get(path).await.ok()["value"], json!({ "yes": true }));
}

#[tokio::test]
async fn a_rejection_is_a_failure_or_any_json() {
    let world = World::new();
    let failure = json!({ "code": 409, "message": "no stock", "details": { "sku": 7 } });
    for (id, body, shown) in [
        ("a", json!({ "failure": failure }), failure.clone()),
        ("b", json!({}), json!({ "code": 400, "message": "rejected from outside" })),
        (
            "c",
            json!({ "value": "no" }),
            json!({ "code": 500, "message": "rejected", "details": "no" }),
        ),
    ] {
        world.gate(id).await;
        let settled = world.post(&format!("/v1/promises/{id}/reject"), body).await.ok();
        assert_eq!((&settled["state"], &settled["failure"]), (&json!("rejected"), &shown));
    }
    world.gate("d").await;
    let both = json!({ "failure": failure, "value": 1 });
    world.post("/v1/promises/d/reject", both).await.problem(400, "invalid-field");
    let cancelled = world.post("/v1/promises/d/cancel", json!({})).await.ok();
    assert_eq!(
        (&cancelled["state"], &cancelled["failure"]["code"]),
        (&json!("cancelled"), &json!(499))
    );
}

#[tokio::test]
async fn an_invocation_is_not_settled_from_outside() {
    let world = World::shop().await;
    world.start("a").await.ok();
    for action in ["resolve", "reject", "cancel"] {
        let answer = world.post(&format!("/v1/promises/a/{action}"), json!({})).await;
        assert!(answer.problem(409, "is-an-invocation").contains("kill"));
        let answer = world.post(&format!("/v1/promises/nothing/{action}"), json!({})).await;
        assert!(answer.problem(404, "unknown-promise").contains("`nothing`"));
    }
    world.get("/v1/promises/nothing").await.problem(404, "unknown-promise");
    world.gate("plain").await;
    world.get("/v1/invocations/plain").await.problem(404, "unknown-invocation");
    world.get("/v1/invocations/plain/wait").await.problem(404, "unknown-invocation");
    world.start("plain").await.problem(409, "id-taken");
}
