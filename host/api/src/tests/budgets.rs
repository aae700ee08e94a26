//! Budgets over HTTP: every start that takes one, what is refused, reading and raising.

use axum::http::Method;
use segno_core::{command::Command, reply::Reply};
use serde_json::{Value, json};

use super::ApiWorld;

const SIGNALS: &str = "/v1/invocations/signalled/signals";
const UPDATES: &str = "/v1/invocations/updated/updates/set";

/// The requests that take a budget, each with the pointer to the object that has it.
fn requests() -> [(&'static str, &'static str, Value); 7] {
    let order = json!({ "target": "shop/ship" });
    let plan = json!({ "nodes": { "a": { "call": "ship" } } });
    [
        ("/v1/invocations", "", json!({ "id": "started", "target": "shop/ship" })),
        ("/v1/objects/shop/Cart/ada/pay-in", "", json!({ "id": "called" })),
        ("/v1/graphs", "", json!({ "id": "planned", "plan": plan, "module": "shop" })),
        (
            "/v1/schedules",
            "",
            json!({ "id": "nightly", "cron": "* * * * *", "target": "shop/ship", "invocation_id": "at{{.timestamp}}" }),
        ),
        (
            "/v1/schedules",
            "",
            json!({ "id": "polled", "cron": "* * * * *", "target": "poll://any@g" }),
        ),
        (SIGNALS, "/start", json!({ "name": "go", "start": order.clone() })),
        (UPDATES, "/start", json!({ "input": 1, "start": order })),
    ]
}

fn with(budget: Value, place: &str, mut request: Value) -> Value {
    request.pointer_mut(place).expect("it is there")["budget"] = budget;
    request
}

async fn shop() -> ApiWorld {
    let world = ApiWorld::new();
    world.upload("shop", "wasm ship Cart/pay-in").await;
    world
}

/// The limit of `calls` of the execution's own budget.
async fn limit(world: &ApiWorld, id: &str) -> Value {
    let view = world.get(&format!("/v1/invocations/{id}/budget")).await.ok();
    assert_eq!(view["accounts"][0]["id"], id, "{view}");
    view["accounts"][0]["units"]["calls"].clone()
}

#[tokio::test]
async fn every_start_takes_a_budget() {
    let world = shop().await;
    for (path, place, request) in requests().into_iter().filter(|it| it.0 != UPDATES) {
        let answer = world.post(path, with(json!({ "calls": 7.5 }), place, request)).await;
        let answer = answer.ok();
        if path == "/v1/schedules" {
            assert_eq!(answer["schedule"]["budget"], json!({ "calls": 7.5 }));
        }
    }
    let fired = world.post("/v1/schedules/nightly/trigger", json!({ "at_ms": 5 })).await.ok();
    assert_eq!(fired, json!({ "id": "at5", "created": true }));
    world.post("/v1/schedules/polled/trigger", json!({ "at_ms": 6 })).await.ok();
    for id in ["started", "called", "planned", "at5", "polled@6", "signalled"] {
        let own = json!({ "limit": 7.5, "spent": 0, "remaining": 7.5 });
        assert_eq!(limit(&world, id).await, own, "{id}");
    }
    // Each occurrence has a budget of its own.
    world.post("/v1/schedules/nightly/trigger", json!({ "at_ms": 7 })).await.ok();
    let set = json!({ "limits": { "calls": 1 } });
    world.send(Method::PUT, "/v1/invocations/at7/budget", set.to_string()).await.ok();
    assert_eq!(limit(&world, "at5").await["limit"], 7.5);
    assert_eq!(limit(&world, "at7").await["limit"], 1);
}

#[tokio::test]
async fn a_budget_that_is_none_is_refused_by_name_and_starts_nothing() {
    let world = shop().await;
    let many: serde_json::Map<String, Value> =
        (0..17).map(|unit| (format!("u{unit}"), json!(1))).collect();
    for (budget, said) in [
        (json!({ "calls": -1 }), "`budget` is refused: `-1` is no amount"),
        (json!({ "usd": 0.0000001 }), "at most six decimal places"),
        (json!({ "calls": 1e300 }), "is no amount"),
        (json!({ "a b": 1 }), "`a b` is no unit"),
        (json!(many), "more than 16 units"),
        (json!({ "calls": "7" }), "number"),
    ] {
        for (path, place, request) in requests() {
            // The function has no update: that is found out first.
            if path == UPDATES && !budget["calls"].is_string() {
                continue;
            }
            let answer = world.post(path, with(budget.clone(), place, request)).await;
            let refused = answer.body["detail"].as_str().unwrap_or_default().to_owned();
            assert_eq!(answer.status.as_u16(), 400, "{path} {budget}: {refused}");
            assert!(refused.contains(said), "{path} {budget}: {refused}");
        }
    }
    let stored = world.get("/v1/invocations").await.ok();
    assert_eq!(stored["items"], json!([]));
    assert_eq!(world.get("/v1/schedules").await.ok()["items"], json!([]));
}

#[tokio::test]
async fn what_is_started_once_more_has_the_limits_of_the_first() {
    let world = shop().await;
    for (path, place, request) in requests().into_iter().take(3) {
        world.post(path, with(json!({ "calls": 2 }), place, request)).await.ok();
    }
    world.post("/v1/invocations/started/restart", json!({})).await.ok();
    assert_eq!(limit(&world, "started-r1").await["limit"], 2);
    world.post("/v1/invocations/planned/kill", json!({})).await.ok();
    world.post("/v1/graphs/planned/retry", json!({})).await.ok();
    assert_eq!(limit(&world, "planned-r1").await["limit"], 2);
}

#[tokio::test]
async fn a_budget_is_read_and_raised_and_what_is_spent_stays_spent() {
    let world = shop().await;
    let budget = json!({ "calls": 3, "usd": 0.5 });
    let start = json!({ "id": "it", "target": "shop/ship", "budget": budget });
    world.post("/v1/invocations", start).await.ok();
    let claim = world.acquire("it").await;
    let costs = "usd=0.125,tokens=9".parse().expect("costs");
    let spent = world.command(Command::BudgetCharge { claim, begins: true, costs }).await;
    assert_eq!(spent, Reply::Done);
    let path = "/v1/invocations/it/budget";
    let set = async |limits: Value| {
        world.send(Method::PUT, path, json!({ "limits": limits }).to_string()).await
    };
    let raised = set(json!({ "usd": 0.1, "tokens": 20 })).await.ok();
    // The unit `tokens` is new: it was not counted before.
    let units = json!({
        "calls": { "limit": 3, "spent": 1, "remaining": 2 },
        "tokens": { "limit": 20, "spent": 0, "remaining": 20 },
        "usd": { "limit": 0.1, "spent": 0.125, "remaining": 0 },
    });
    assert_eq!(raised, json!({ "accounts": [{ "id": "it", "units": units }], "below": [] }));
    assert_eq!(world.get(path).await.ok(), raised);
    assert_eq!(world.get("/v1/invocations/it").await.ok()["budget"], raised["accounts"]);
    let refused = set(json!({})).await;
    assert!(refused.problem(400, "invalid-field").contains("`limits` names no unit"));
    assert!(set(json!({ "usd": -2 })).await.problem(400, "invalid-field").contains("`-2`"));
    let many: serde_json::Map<String, Value> =
        (0..14).map(|unit| (format!("u{unit}"), json!(1))).collect();
    assert_eq!(set(json!(many)).await.status.as_u16(), 400);
    assert_eq!(world.get(path).await.ok(), raised);
    world.start("free").await.ok();
    let free = world.get("/v1/invocations/free/budget").await.ok();
    assert_eq!(free, json!({ "accounts": [], "below": [] }));
    let set = json!({ "limits": { "calls": 1 } }).to_string();
    let of = async |id: &str| {
        world.send(Method::PUT, &format!("/v1/invocations/{id}/budget"), set.clone()).await
    };
    assert_eq!(of("free").await.status.as_u16(), 422);
    of("absent").await.problem(404, "unknown-invocation");
    world.get("/v1/invocations/absent/budget").await.problem(404, "unknown-invocation");
}
