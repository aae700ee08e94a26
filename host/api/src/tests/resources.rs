use axum::http::Method;
use serde_json::json;

use super::ApiWorld;

#[tokio::test]
async fn a_resource_is_taken_and_written_by_one_at_a_time() {
    let world = ApiWorld::new();
    let path = "/v1/resources/stock%2F7";
    assert!(world.get(path).await.problem(404, "unknown-resource").contains("stock/7"));
    let lease = format!("{path}/lease");
    let take = |holder: &str, ttl: u64| json!({ "holder": holder, "ttl_ms": ttl });
    let taken = world.post(&lease, take("ada", 60_000)).await.ok();
    assert_eq!((&taken["lease"]["token"], &taken["lease"]["holder"]), (&json!(1), &json!("ada")));
    let busy = world.post(&lease, take("bob", 60_000)).await;
    assert!(busy.problem(409, "resource-busy").contains("`ada`"));
    let put = |value: &str, token: u64| json!({ "value": value, "token": token }).to_string();
    let written = world.send(Method::PUT, path, put("first", 1)).await.ok();
    assert_eq!((&written["value"], &written["token"]), (&json!("first"), &json!(1)));
    world.send(Method::PUT, path, put("first", 1)).await.ok();
    world.post(&lease, take("ada", 0)).await.ok();
    let taken = world.post(&lease, take("bob", 60_000)).await.ok();
    assert_eq!(taken["lease"]["token"], 3);
    world.send(Method::PUT, path, put("second", 3)).await.ok();
    let stale = world.send(Method::PUT, path, put("late", 1)).await;
    assert!(stale.problem(409, "stale-token").contains("the token 1 for `stock/7` is stale"));
    assert_eq!(world.get(path).await.ok()["value"], "second");
    world.post(&lease, take("", 1)).await.problem(400, "bad-request");
    world.send(Method::PUT, path, put("x", u64::MAX)).await.problem(400, "invalid-field");
}
