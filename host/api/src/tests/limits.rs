//! Limits: setting and reading them, and reports about waiting executions.

use axum::http::Method;
use segno_core::{
    command::{Command, FenceOperation},
    id::{CommandIndex, Digest, PromiseId},
    object::ModuleFacts,
    promise::NewPromise,
    tags,
    time::Timestamp,
    value::Value as Stored,
};
use segno_store::NewModule;
use serde_json::{Value, json};

use super::ApiWorld;
use crate::testing::new_promise;

const SHIP: &str = "/v1/limits/shop/ship";

/// Sets a limit, and re-evaluates its keys, as the timers of a host do.
async fn set(world: &ApiWorld, path: &str, rule: Value) -> Value {
    let said = world.send(Method::PUT, path, rule.to_string()).await.ok();
    let name = said["limit"].as_str().expect("a name").into();
    world.command(Command::LimitDue { name }).await;
    said
}

async fn start(world: &ApiWorld, id: &str, input: Value) -> Value {
    let start = json!({ "id": id, "target": "shop/ship", "input": input });
    world.post("/v1/invocations", start).await.ok()
}

async fn clear(world: &ApiWorld, path: &str) -> Value {
    world.send(Method::DELETE, path, "").await.ok()
}

#[tokio::test]
async fn a_limit_is_set_and_cleared_and_the_answer_says_what_held_before() {
    let world = ApiWorld::shop().await;
    let free = world.get(SHIP).await.ok();
    assert_eq!(free, json!({ "limit": "shop/ship", "running": 0, "waiting": 0, "keys": [] }));
    let rule = json!({ "key": "customer.id", "per_key": { "concurrency": 5.0 } });
    let said = set(&world, SHIP, rule).await;
    let rule = json!({ "key": "customer.id", "per_key": { "concurrency": 5 } });
    assert_eq!((&said["rule"], &said["source"]), (&rule, &json!("operator")));
    assert_eq!(said["before"], json!({}));
    // The whole rule is replaced.
    let other = json!({ "per_key": { "rate": { "count": 2, "period_ms": 60_000, "burst": 3 } } });
    let said = set(&world, SHIP, other.clone()).await;
    assert_eq!(said["rule"], other);
    assert_eq!(said["before"], json!({ "rule": rule, "source": "operator" }));
    let said = clear(&world, SHIP).await;
    assert_eq!((said.get("rule"), &said["before"]["rule"]), (None, &other));
    assert_eq!(world.get(SHIP).await.ok(), free);
}

#[tokio::test]
async fn a_rule_that_makes_no_sense_is_refused_with_its_sentence() {
    let world = ApiWorld::shop().await;
    let put = async |rule: &str| world.send(Method::PUT, SHIP, rule.to_owned()).await;
    let zero = put(r#"{"per_key":{"concurrency":0}}"#).await;
    let said = zero.problem(422, "invalid-limit");
    assert!(said.contains("a concurrency of 0 would let nothing begin: use at least 1"), "{said}");
    assert!(put("").await.problem(422, "invalid-limit").contains("says nothing"));
    let unknown = put(r#"{"concurrency":5}"#).await;
    assert!(unknown.problem(400, "invalid-json").contains("unknown field `concurrency`"));
    assert_eq!(world.get(SHIP).await.ok().get("rule"), None);
}

#[tokio::test]
async fn what_is_unknown_is_answered_with_what_there_is() {
    let world = ApiWorld::shop().await;
    let rule = json!({ "per_key": { "concurrency": 1 } }).to_string();
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = world.send(method.clone(), "/v1/limits/shpo/ship", rule.clone()).await;
        answer.problem(404, "unknown-module");
        assert_eq!(answer.body["known"], json!(["shop"]));
        let answer = world.send(method, "/v1/limits/shop/shp", rule.clone()).await;
        answer.problem(404, "unknown-function");
        assert_eq!(answer.body["known"], json!(["order", "ship", "short"]));
    }
    world.get("/v1/limits/shop/a@b").await.problem(400, "invalid-path");
    world.get("/v1/limits?limit=0").await.problem(400, "invalid-field");
}

#[tokio::test]
async fn a_function_of_an_object_is_limited_by_its_name_with_a_slash() {
    let world = ApiWorld::new();
    world.upload("shop", "wasm Cart/add").await.ok();
    let path = "/v1/limits/shop/Cart%2Fadd";
    set(&world, path, json!({ "per_key": { "concurrency": 1 } })).await;
    assert_eq!(world.get(path).await.ok()["limit"], "shop/Cart/add");
}

#[tokio::test]
async fn the_limit_of_a_digest_is_another_than_that_of_a_name() {
    let world = ApiWorld::shop().await;
    let digest = world.digest("shop").await.to_string();
    let path = format!("/v1/limits/{}/ship", &digest[..12]);
    let said = set(&world, &path, json!({ "per_key": { "concurrency": 1 } })).await;
    assert_eq!(said["limit"], format!("sha256:{digest}/ship"));
    assert_eq!(world.get(SHIP).await.ok().get("rule"), None);
}

#[tokio::test]
async fn limits_are_listed_by_name_a_page_at_a_time() {
    let world = ApiWorld::shop().await;
    assert_eq!(world.get("/v1/limits").await.ok(), json!({ "items": [] }));
    for function in ["short", "order", "ship"] {
        let rule = json!({ "per_key": { "concurrency": 1 } });
        set(&world, &format!("/v1/limits/shop/{function}"), rule).await;
    }
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["limit"].as_str().expect("a name").to_owned()).collect()
    };
    let page = world.get("/v1/limits?limit=2").await.ok();
    assert_eq!(names(&page), ["shop/order", "shop/ship"]);
    let next = page["next"].as_str().expect("there is more").replace('/', "%2F");
    let page = world.get(&format!("/v1/limits?limit=2&after={next}")).await.ok();
    assert_eq!((names(&page), page.get("next")), (vec!["shop/short".to_owned()], None));
}

#[tokio::test]
async fn what_a_module_declares_holds_until_an_operator_says_something_else() {
    let world = ApiWorld::shop().await;
    let rule = json!({ "per_key": { "concurrency": 1 } });
    let declared = serde_json::from_value(rule.clone()).expect("a rule");
    let component = b"wasm ship".as_slice();
    let module = NewModule {
        facts: ModuleFacts { limits: [("ship".into(), declared)].into(), ..Default::default() },
        description: json!({ "functions": [{ "name": "ship", "kind": "workflow" }], "imports": [],
            "exports": [] })
        .to_string(),
        ..NewModule::plain(Digest::of(component), component.into(), Timestamp(1))
    };
    let digest = module.digest;
    world.api.host.store.modules().put(module).await.expect("it is stored");
    world.command(Command::Deploy { alias: "shop".into(), module: digest }).await;
    start(&world, "a", json!(1)).await;
    let shown = world.get(SHIP).await.ok();
    assert_eq!((&shown["rule"], &shown["source"]), (&rule, &json!("module")));
    let more = json!({ "per_key": { "concurrency": 2 } });
    let said = set(&world, SHIP, more.clone()).await;
    assert_eq!((&said["rule"], &said["declared"]), (&more, &rule));
    assert_eq!(said["before"], json!({ "rule": rule, "source": "module" }));
    let said = clear(&world, SHIP).await;
    assert_eq!((&said["rule"], said.get("declared")), (&rule, None));
    assert_eq!((&said["source"], &said["running"]), (&json!("module"), &json!(1)));
}

#[tokio::test]
async fn keys_are_shown_with_who_runs_and_who_waits_and_their_tokens() {
    let world = ApiWorld::shop().await;
    let rule = json!({
        "key": "c",
        "per_key": { "concurrency": 2, "rate": { "count": 1, "period_ms": 60_000, "burst": 1 } },
        "total": { "rate": { "count": 10, "period_ms": 1_000, "burst": 10 } },
        "priority": { "path": "p" }
    });
    set(&world, SHIP, rule).await;
    for (id, customer, priority) in [("a1", "a", 0), ("a2", "a", 0), ("a3", "a", 3), ("b1", "b", 9)]
    {
        start(&world, id, json!({ "c": customer, "p": priority })).await;
    }
    let shown = world.get(&format!("{SHIP}?limit=1")).await.ok();
    assert_eq!((&shown["running"], &shown["waiting"]), (&json!(2), &json!(2)));
    assert!(shown["tokens"].as_u64().is_some_and(|tokens| tokens >= 8), "{shown}");
    let key = &shown["keys"][0];
    assert_eq!(
        (&key["key"], &key["running"], &key["waiting"]),
        (&json!("a"), &json!(1), &json!(2))
    );
    assert_eq!(key["priorities"], json!({ "0": 1, "3": 1 }));
    assert_eq!(key["tokens"], 0);
    assert!(key["next_token_at_ms"].as_i64().is_some());
    assert_eq!(shown["next"], "a");
    let shown = world.get(&format!("{SHIP}?limit=1&after=a")).await.ok();
    let key = &shown["keys"][0];
    assert_eq!((&key["key"], key.get("priorities"), shown.get("next")), (&json!("b"), None, None));
}

#[tokio::test]
async fn an_execution_that_waits_says_behind_what() {
    let world = ApiWorld::shop().await;
    let rule = json!({ "key": "c", "per_key": { "concurrency": 1 }, "priority": { "path": "p" } });
    set(&world, SHIP, rule).await;
    let input = json!({ "c": "acme", "p": 2 });
    let first = start(&world, "a", input.clone()).await;
    assert_eq!(first.get("behind"), None);
    for id in ["b", "c"] {
        let started = start(&world, id, input.clone()).await;
        assert_eq!(started["invocation"]["state"], "suspended");
        assert_eq!(started["behind"]["limit"], "shop/ship");
    }
    let again = start(&world, "c", input).await;
    assert_eq!((&again["created"], &again["behind"]["key"]), (&json!(false), &json!("acme")));
    let admitted = world.get("/v1/invocations/a").await.ok();
    assert_eq!(admitted["limit"], json!({ "limit": "shop/ship", "key": "acme", "priority": 2 }));
    let waits = &world.get("/v1/invocations/c").await.ok()["limit"]["waits"];
    let holders = json!([{ "id": "a", "state": "pending" }]);
    assert_eq!(
        waits,
        &json!({ "before": 1, "running": 1, "concurrency": 1, "total_running": 1, "holders": holders })
    );
    assert_eq!(world.get(SHIP).await.ok()["keys"][0]["holders"], holders);
    world.halt("a").await;
    let why = world.get("/v1/invocations/c/why").await.ok();
    assert_eq!(
        (&why["chain"][0]["on"], &why["chain"][1]["reason"]),
        (&json!("a"), &json!("halted"))
    );
    // A wait is answered when its time is over, while the execution still waits.
    let waited = world.get("/v1/invocations/c/wait?timeout_ms=20").await.ok();
    assert_eq!(waited["state"], "suspended");
}

#[tokio::test]
async fn an_execution_that_is_held_back_says_until_when() {
    let world = ApiWorld::shop().await;
    set(&world, SHIP, json!({ "key": "c", "debounce": { "period_ms": 60_000 } })).await;
    start(&world, "a", json!({ "c": "acme" })).await;
    let second = start(&world, "b", json!({ "c": "acme" })).await;
    assert!(second["behind"]["waits"]["debounced_until_ms"].as_i64().is_some(), "{second}");
    let first = world.get("/v1/invocations/a").await.ok();
    assert_eq!((&first["state"], &first["failure"]["code"]), (&json!("rejected"), &json!(409)));
    let said = first["failure"]["message"].as_str().expect("a message");
    assert_eq!(said, "`a` does not begin: `b` came after it, and takes its place");
    let key = &world.get(SHIP).await.ok()["keys"][0];
    assert!(key["debounced_until_ms"].as_i64().is_some(), "{key}");
}

#[tokio::test]
async fn a_start_that_is_skipped_is_answered_with_its_failure_also_by_who_waits_for_it() {
    let world = ApiWorld::shop().await;
    set(&world, SHIP, json!({ "key": "c", "singleton": "skip" })).await;
    start(&world, "a", json!({ "c": "acme" })).await;
    let start =
        json!({ "id": "b", "target": "shop/ship", "input": { "c": "acme" }, "wait_ms": 60_000 });
    let skipped = world.post("/v1/invocations", start).await;
    assert_eq!(skipped.status, 201);
    let skipped = skipped.ok();
    assert_eq!(skipped["invocation"]["state"], "rejected");
    assert_eq!(skipped["invocation"]["failure"]["details"], json!({ "other": "a" }));
    assert_eq!(skipped.get("behind"), None);
    let shown = world.get("/v1/invocations/b").await.ok();
    assert_eq!(shown["limit"], json!({ "limit": "shop/ship", "key": "acme" }));
}

#[tokio::test]
async fn an_input_without_the_key_of_the_limit_is_refused() {
    let world = ApiWorld::shop().await;
    set(&world, SHIP, json!({ "key": "c", "per_key": { "concurrency": 1 } })).await;
    let start = json!({ "target": "shop/ship", "input": {} });
    let refused = world.post("/v1/invocations", start).await;
    let said = refused.problem(422, "unprocessable");
    assert!(said.contains("takes the key from `c` of the input, where nothing is"), "{said}");
}

/// Begins an invocation, and suspends it on a child that runs its own function.
async fn calls_itself(world: &ApiWorld, id: &str) {
    let claim = world.journal(id, world.digest("shop").await).await;
    let child = claim.id.command(CommandIndex(1));
    let param = Stored::of(&br#"{"func":"ship","args":[{"c":"acme"}]}"#[..]);
    let new = new_promise(child.clone(), &[(tags::TARGET, "wasm:///ship")]);
    let new = NewPromise { param, ..new };
    world.fence(&claim, [FenceOperation::Create { new, request: None }]).await;
    world.suspend(claim, [child]).await;
}

#[tokio::test]
async fn a_call_behind_the_limit_of_its_waiting_caller_is_named_as_a_circle() {
    for total in [false, true] {
        let world = ApiWorld::shop().await;
        let two = json!({ "concurrency": 2 });
        let bound = if total { "total" } else { "per_key" };
        set(&world, SHIP, json!({ "key": "c", bound: two })).await;
        for id in ["a", "b"] {
            start(&world, id, json!({ "c": "acme" })).await;
        }
        for id in ["a", "b"] {
            // As long as an admitted execution may end, there is no deadlock.
            let shown = world.get("/v1/invocations/a").await.ok();
            assert_eq!(shown.get("deadlock"), None, "{shown}");
            calls_itself(&world, id).await;
        }
        for of in ["a", "b", "a%2F1", "b%2F1"] {
            let shown = world.get(&format!("/v1/invocations/{of}")).await.ok();
            // All admitted executions are stuck; the latest is reported.
            let mut circle = shown["deadlock"].as_array().cloned().unwrap_or_default();
            circle.sort_by_key(|id| id.as_str().map(str::len));
            assert_eq!(circle, ["b", "b/1"], "{shown}");
        }
        // The end of an execution makes room.
        world.command(Command::Kill { invocation: PromiseId::from("b") }).await;
        let shown = world.get("/v1/invocations/a").await.ok();
        assert_eq!(shown.get("deadlock"), None, "{shown}");
    }
}

#[tokio::test]
async fn what_is_declared_is_shown_before_anybody_came_to_it() {
    let world = ApiWorld::new();
    world.upload("shop", "wasm ship limited").await.ok();
    let rule = json!({ "key": "customer.id", "per_key": { "concurrency": 5 } });
    let declared = json!({
        "limit": "shop/limited", "rule": rule, "source": "module", "running": 0, "waiting": 0
    });
    assert_eq!(world.get("/v1/limits").await.ok(), json!({ "items": [declared] }));
    let shown = world.get("/v1/limits/shop/limited").await.ok();
    assert_eq!((&shown["rule"], &shown["source"]), (&rule, &json!("module")));
    let said = clear(&world, "/v1/limits/shop/limited").await;
    assert_eq!((&said["rule"], &said["before"]["rule"]), (&rule, &rule));
}
