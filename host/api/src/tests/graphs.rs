//! Plans over HTTP: refusals, starts, and the state of a run.

use segno_core::{
    command::Command,
    graph::NodeState::{Completed, Failed, Running, Skipped},
    id::Claim,
    promise::Verdict,
    time::Millis,
    value::Value as Stored,
};
use serde_json::{Value, json};

use super::ApiWorld;

fn plan() -> Value {
    json!({ "name": "prices", "nodes": {
        "a": { "call": "ship" },
        "b": { "call": "wasm://shop/order", "needs": ["a"] },
        "c": { "signal": "go", "needs": ["a"] },
        "d": { "sleep": "5s", "needs": ["b", "c"] },
        "e": { "call": "ship", "needs": ["a"], "when": { "from": "a", "is": 2 } },
    } })
}

async fn started(world: &ApiWorld, id: &str) -> Claim {
    let body = json!({ "id": id, "plan": plan(), "input": 7, "module": "shop" });
    let answer = world.post("/v1/graphs", body).await.ok();
    assert_eq!((&answer["id"], &answer["created"]), (&json!(id), &json!(true)));
    world.acquire(id).await
}

/// Returns the names and states of the nodes.
fn states(run: &Value) -> Vec<(String, String)> {
    let nodes = run["nodes"].as_array().expect("nodes").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    nodes.map(|node| (text(&node["name"]), text(&node["state"]))).collect()
}

fn expected(states: [(&str, &str); 5]) -> Vec<(String, String)> {
    states.map(|(node, state)| (node.to_owned(), state.to_owned())).into()
}

#[tokio::test]
async fn a_run_is_started_once_for_each_id() {
    let world = ApiWorld::shop().await;
    started(&world, "it").await;
    let again = json!({ "id": "it", "plan": plan(), "input": 7, "module": "shop" });
    let answer = world.post("/v1/graphs", again.clone()).await.ok();
    assert_eq!(answer["created"], json!(false));
    for (field, value, differs) in
        [("input", json!(8), "another input"), ("max_parallel", json!(3), "another plan")]
    {
        let mut other = again.clone();
        other[field] = value;
        let said = world.post("/v1/graphs", other).await.problem(409, "key-reused").to_owned();
        assert!(said.contains(differs), "{said}");
    }
    let unnamed = json!({ "plan": plan(), "module": "shop" });
    let id = world.post("/v1/graphs", unnamed).await.ok()["id"].clone();
    assert!(id.as_str().is_some_and(|id| id.starts_with("prices-")), "{id}");
    let checked = world.post("/v1/graphs/check", again).await.ok();
    assert_eq!(
        (&checked["nodes"], &checked["edges"], &checked["depth"]),
        (&json!(5), &json!(5), &json!(3))
    );
}

#[tokio::test]
async fn every_fault_of_a_plan_is_told_and_nothing_is_started() {
    let world = ApiWorld::shop().await;
    let refused = async |body: Value, faults: &[&str]| {
        for path in ["/v1/graphs", "/v1/graphs/check"] {
            let answer = world.post(path, body.clone()).await;
            let detail = answer.problem(422, "invalid-plan");
            for fault in faults {
                assert!(detail.contains(fault), "{fault} is missing in {detail}");
            }
            assert_eq!(
                answer.body["errors"].as_array().map(Vec::len),
                Some(faults.len()),
                "{detail}"
            );
        }
        assert_eq!(world.get("/v1/invocations").await.ok()["items"], json!([]));
    };
    let nodes = |nodes: Value| json!({ "plan": { "nodes": nodes }, "module": "shop", "id": "it" });
    refused(
        nodes(json!({ "a": { "call": "x", "needs": ["a"] }, "b": { "needs": ["z"] } })),
        &[
            "nodes.a.needs: the node needs itself",
            "nodes.b: the node does nothing",
            "nodes.b.needs: there is no node `z`",
        ],
    )
    .await;
    let inner = json!({ "nodes": { "x": { "call": "wasm://nowhere/f" } } });
    refused(
        nodes(
            json!({ "a": { "call": "shipp" }, "b": { "graph": inner }, "c": { "graph": "gone" } }),
        ),
        &[
            "nodes.a.call: module `shop` has no function `shipp`; it has order, ship, short",
            "nodes.b.graph.nodes.x.call: there is no module `nowhere`",
            "nodes.c.graph: module `shop` has no function `gone`",
        ],
    )
    .await;
    let without = json!({ "plan": { "nodes": {
        "a": { "call": "ship" }, "b": { "http": { "url": "http://127.0.0.1:1/" } },
    } } });
    refused(
        without,
        &[
            "nodes.a.call: `ship` is named without a module",
            "nodes.b.http: a request is sent under",
        ],
    )
    .await;
    refused(
        nodes(json!({ "a": { "call": "order", "once": true } })),
        &["nodes.a.once: `order` is a workflow, which continues from its journal"],
    )
    .await;
    let twice =
        r#"{"plan": {"nodes": {"a": {"call": "ship"}, "a": {"call": "ship"}}}, "module": "shop"}"#;
    let answer = world.send(axum::http::Method::POST, "/v1/graphs", twice).await;
    assert!(answer.problem(422, "invalid-plan").contains("there are two nodes `a`"));
    let much = json!({ "plan": plan(), "module": "shop", "max_parallel": 1001 });
    let answer = world.post("/v1/graphs", much).await;
    assert!(answer.problem(400, "invalid-field").contains("a whole number from 1 to 1000"));
    let answer = world.post("/v1/graphs", json!({ "plan": plan(), "module": "chop" })).await;
    answer.problem(404, "unknown-module");
}

#[tokio::test]
async fn a_plan_of_a_million_nodes_is_refused() {
    let world = ApiWorld::shop().await;
    let mut text = String::from(r#"{"module": "shop", "plan": {"nodes": {"a": {"call": "ship"}"#);
    for node in 0..700_000 {
        text.push_str(&format!(r#","n{node}":{{"sleep":"1s"}}"#));
    }
    text.push_str("}}}");
    let answer = world.send(axum::http::Method::POST, "/v1/graphs", text).await;
    assert!([413, 422].contains(&answer.status.as_u16()), "{answer:?}");
    let mut text = String::from(r#"{"module": "shop", "plan": {"nodes": {"a": {"call": "ship"}"#);
    for node in 0..100_001 {
        text.push_str(&format!(r#","n{node}":{{"sleep":"1s"}}"#));
    }
    text.push_str("}}}");
    let answer = world.send(axum::http::Method::POST, "/v1/graphs", text).await;
    let detail = answer.problem(422, "invalid-plan");
    assert!(detail.contains("100,000") || detail.contains("100000"), "{detail}");
}

#[tokio::test]
async fn a_run_is_seen_node_by_node() {
    let world = ApiWorld::shop().await;
    let claim = started(&world, "it").await;
    let run = world.get("/v1/graphs/it").await.ok();
    let ready =
        [("a", "ready"), ("b", "pending"), ("c", "pending"), ("d", "pending"), ("e", "pending")];
    assert_eq!(states(&run), expected(ready));
    world
        .nodes(
            &claim,
            &[("a", Completed, Some(Ok("1"))), ("b", Running, None), ("e", Skipped, None)],
        )
        .await;
    let run = world.get("/v1/graphs/it").await.ok();
    let going =
        [("a", "completed"), ("b", "running"), ("c", "ready"), ("d", "pending"), ("e", "skipped")];
    assert_eq!(states(&run), expected(going));
    assert_eq!(run["counts"]["pending"], json!(1));
    let node = &run["nodes"][1];
    assert_eq!(
        (&node["what"], &node["needs"], &node["layer"]),
        (&json!("call shop/order"), &json!(["a"]), &json!(1))
    );
    assert_eq!((&node["promise"], &run["nodes"][4]["promise"]), (&json!("it/n/b/0"), &Value::Null));
    assert_eq!(
        (&run["name"], &run["module"], &run["max_parallel"]),
        (&json!("prices"), &json!("shop"), &json!(16))
    );
    let wrong = "{\"code\":503,\"message\":\"no\"}";
    world.settle("it/n/b/0", Verdict::Rejected, wrong).await;
    let failed = [("b", Failed, None)];
    // Facts with the same time are returned in the order of the plan.
    world.api.host.env.runtime.sleep(Millis(5)).await;
    world.nodes(&claim, &failed).await;
    let run = world.get("/v1/graphs/it").await.ok();
    let closed =
        [("a", "completed"), ("b", "failed"), ("c", "ready"), ("d", "not-run"), ("e", "skipped")];
    assert_eq!(states(&run), expected(closed));
    assert_eq!(run["nodes"][1]["failure"], json!({ "code": 503, "message": "no" }));

    let history = world.get("/v1/graphs/it/history").await.ok();
    let facts = history["facts"].as_array().expect("facts");
    let told = facts.iter().map(|fact| format!("{} {}", fact["node"], fact["state"]));
    let told: Vec<String> = told.map(|fact| fact.replace('"', "")).collect();
    assert_eq!(told, ["a completed", "b running", "e skipped", "b failed"]);
    assert!(facts.iter().all(|fact| fact["at_ms"].as_i64() > Some(0) && fact["attempt"] == 0));
    let page = world.get("/v1/graphs/it/history?limit=3").await.ok();
    assert_eq!(page["next"], json!(3));
    let rest = world.get("/v1/graphs/it/history?after=3").await.ok();
    assert_eq!((&rest["facts"][0]["state"], &rest["next"]), (&json!("failed"), &Value::Null));

    let first = world.get("/v1/graphs/it?limit=2").await.ok();
    assert_eq!((states(&first).len(), &first["next"]), (2, &json!("b")));
    let rest = world.get("/v1/graphs/it?limit=3&after=b").await.ok();
    assert_eq!((states(&rest).len(), &rest["next"]), (3, &Value::Null));
    world.get("/v1/graphs/it?limit=0").await.problem(400, "invalid-field");
    let stored = world.get("/v1/graphs/it/plan").await.ok();
    assert_eq!(stored["nodes"]["d"], json!({ "sleep": "5s", "needs": ["b", "c"] }));
    world.start("other").await.ok();
    let told = world.get("/v1/graphs/other").await;
    assert!(told.problem(409, "not-a-graph-run").contains("`other` has no plan"), "{told:?}");
    world.get("/v1/graphs/nothing").await.problem(404, "unknown-invocation");
}

#[tokio::test]
async fn a_run_that_failed_is_started_again_under_a_new_id() {
    let world = ApiWorld::shop().await;
    let claim = started(&world, "it").await;
    let early = world.post("/v1/graphs/it/retry", json!({})).await;
    assert!(early.problem(409, "wrong-state").contains("`it` has not ended"));
    let value = Stored::of(&b"{\"code\":500,\"message\":\"no\"}"[..]);
    let (records, logs, verdict) = (vec![], vec![], Verdict::Rejected);
    world.command(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    let again = world.post("/v1/graphs/it/retry", json!({})).await.ok();
    assert_eq!((&again["id"], &again["created"]), (&json!("it-r1"), &json!(true)));
    let run = world.get("/v1/graphs/it-r1").await.ok();
    assert_eq!((&run["continues"], &run["module"]), (&json!("it"), &json!("shop")));
    let listed = world.get("/v1/invocations?label=retry-of=it").await.ok();
    assert_eq!(listed["items"][0]["id"], "it-r1");
    assert_eq!(listed["items"][0]["target"], "segno:graph");
    let restarted = world.post("/v1/invocations/it/restart", json!({})).await;
    assert!(restarted.problem(409, "is-a-graph-run").contains("`segno graph retry-failed it`"));
    let listed = world.get("/v1/invocations?function=segno:graph").await.ok();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_signal_of_a_run_has_one_payload() {
    let world = ApiWorld::shop().await;
    started(&world, "it").await;
    let send = async |payload: Value| {
        let body = json!({ "name": "go", "payload": payload });
        world.post("/v1/invocations/it/signals", body).await
    };
    send(json!(1)).await.ok();
    send(json!(1)).await.ok();
    let told = send(json!(2)).await;
    let detail = told.problem(409, "already-sent");
    assert!(
        detail.contains("the signal `go` was sent to `it` before, with another payload"),
        "{detail}"
    );
    let wrong = json!({ "name": "a b", "payload": 1 });
    let told = world.post("/v1/invocations/it/signals", wrong).await;
    assert!(
        told.body["detail"].as_str().is_some_and(|it| it.contains("`a b` is no name")),
        "{told:?}"
    );
    let row = world.get("/v1/promises/it%2Fsig%2Fgo").await.ok();
    assert_eq!(row["state"], "resolved");
}
