use segno_engine::delivery::Reach;
use serde_json::json;

use super::ApiWorld;

#[tokio::test]
async fn a_promise_settles_once() {
    let world = ApiWorld::new();
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
    let world = ApiWorld::new();
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
    let world = ApiWorld::shop().await;
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

#[tokio::test]
async fn a_promise_is_made_once_and_settled_by_whoever_knows() {
    let world = ApiWorld::new();
    let body = json!({ "id": "gate", "timeout_ms": 60_000, "tags": { "team": "x" }, "param": { "sum": 7 } });
    let made = world.post("/v1/promises", body.clone()).await;
    assert_eq!(made.status.as_u16(), 201);
    let made = made.ok();
    assert_eq!((&made["created"], &made["promise"]["state"]), (&json!(true), &json!("pending")));
    assert_eq!(
        (&made["promise"]["param"], &made["promise"]["tags"]),
        (&body["param"], &body["tags"])
    );
    assert!(made["promise"]["timeout_at_ms"].is_i64());
    for (other, differs) in [
        (json!({ "id": "gate", "param": { "sum": 8 } }), "another param"),
        (json!({ "id": "gate" }), "another param"),
        (
            json!({ "id": "gate", "param": { "sum": 7 }, "tags": { "target": "poll://any@g" } }),
            "another target",
        ),
    ] {
        let refused = world.post("/v1/promises", other).await;
        let said = refused.problem(409, "key-reused");
        assert!(
            said.contains("the id `gate` was used for another request") && said.contains(differs),
            "{said}"
        );
    }
    // Tags and timeouts are those of the first request.
    let again = world.post("/v1/promises", json!({ "id": "gate", "param": { "sum": 7 } })).await;
    assert_eq!(again.status.as_u16(), 200);
    let again = again.ok();
    assert_eq!((&again["created"], &again["promise"]), (&json!(false), &made["promise"]));
    let settled = world.post("/v1/promises/gate/resolve", json!({ "value": 1 })).await.ok();
    assert_eq!(settled["state"], "resolved");
    let forever = world.post("/v1/promises", json!({ "id": "open" })).await.ok();
    assert!(forever["promise"].get("timeout_at_ms").is_none());
    let task = json!({ "id": "work", "tags": { "target": "poll://any@packers" } });
    world.post("/v1/promises", task).await.ok();
    assert_eq!(world.get("/v1/tasks/work").await.ok()["state"], "pending");
}

#[tokio::test]
async fn promises_that_make_no_sense_are_refused_by_name() {
    let world = ApiWorld::shop().await;
    for (tags, says) in [
        (json!({ "target": "wasm://shop/ship" }), "POST /v1/invocations"),
        (json!({ "target": "ship" }), "POST /v1/invocations"),
        (json!({ "target": "segno:http" }), "POST /v1/invocations"),
        (json!({ "target": "gopher://x" }), "no address"),
        (json!({ "resonate:target": "poll://any@g" }), "is called `target` here"),
        (json!({ "timer": "true" }), "timeout_ms"),
    ] {
        let answer = world.post("/v1/promises", json!({ "id": "p", "tags": tags })).await;
        let detail = answer.problem(400, "invalid-field");
        assert!(detail.contains(says), "{detail}");
    }
    world.post("/v1/promises", json!({ "id": "" })).await.problem(400, "invalid-id");
    world.post("/v1/promises", json!({ "id": "a", "value": 1 })).await.problem(400, "invalid-json");
    world.get("/v1/promises/p").await.problem(404, "unknown-promise");
}

#[tokio::test]
async fn promises_are_listed_by_id_state_and_tags_page_by_page() {
    let world = ApiWorld::new();
    for n in 0..5 {
        let tags = json!({ "team": if n % 2 == 0 { "x" } else { "y" }, "all": "1" });
        world.post("/v1/promises", json!({ "id": format!("a{n}"), "tags": tags })).await.ok();
    }
    world.gate("b0").await;
    world.post("/v1/promises/a1/resolve", json!({})).await.ok();
    let ids = async |query: &str| {
        let page = world.get(&format!("/v1/promises?{query}")).await.ok();
        let ids = page["items"].as_array().expect("items").iter();
        let ids: Vec<String> =
            ids.map(|item| item["id"].as_str().expect("an id").to_owned()).collect();
        (ids.join(" "), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(ids("").await, ("a0 a1 a2 a3 a4 b0".to_owned(), None));
    assert_eq!(ids("prefix=a&limit=3").await, ("a0 a1 a2".to_owned(), Some("a2".to_owned())));
    assert_eq!(ids("prefix=a&limit=3&after=a2").await, ("a3 a4".to_owned(), None));
    assert_eq!(ids("prefix=a&limit=2&after=a2").await, ("a3 a4".to_owned(), None));
    assert_eq!(ids("state=resolved").await.0, "a1");
    assert_eq!(ids("state=pending&prefix=b").await.0, "b0");
    assert_eq!(ids("tags=%7B%22team%22%3A%22x%22%2C%22all%22%3A%221%22%7D").await.0, "a0 a2 a4");
    assert_eq!(ids("prefix=c").await, (String::new(), None));
    for (query, field) in [
        ("state=done", "state"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("tags=x", "tags"),
        ("tags=%7B%22resonate%3Atarget%22%3A%22x%22%7D", "called `target`"),
    ] {
        let answer = world.get(&format!("/v1/promises?{query}")).await;
        assert!(answer.problem(400, "invalid-field").contains(field), "{query}");
    }
}

#[tokio::test]
async fn a_target_that_only_this_machine_reaches_is_refused_where_it_is_named() {
    let world = ApiWorld::shop().await.reaching(Reach { private: false });
    for target in ["http://127.0.0.1:9000/x", "https://10.1.2.3", "http://[::1]/", "http://0x7f.1/"]
    {
        let body = json!({ "id": "a", "tags": { "target": target } });
        let answer = world.post("/v1/promises", body).await;
        let refused = answer.problem(400, "invalid-field");
        assert!(refused.contains("--allow-private-targets"), "{refused}");
        let body = json!({ "id": "a", "cron": "0 3 * * *", "target": target });
        let answer = world.post("/v1/schedules", body).await;
        let refused = answer.problem(400, "invalid-field");
        assert!(refused.contains("--allow-private-targets"), "{refused}");
    }
    let open = ApiWorld::shop().await;
    for (world, target) in [(&world, "http://8.8.8.8/x"), (&open, "http://127.0.0.1:9000/x")] {
        let body = json!({ "id": "a", "tags": { "target": target } });
        assert_eq!(world.post("/v1/promises", body).await.status.as_u16(), 201, "{target}");
        let body = json!({ "id": "a", "cron": "0 3 * * *", "target": target });
        assert_eq!(world.post("/v1/schedules", body).await.status.as_u16(), 201, "{target}");
    }
}

#[tokio::test]
async fn what_people_settle_is_listed_apart_from_calls_and_timers() {
    let world = ApiWorld::shop().await;
    for id in ["b/call", "d/call"] {
        world.start(id).await.ok();
    }
    for id in ["a/gate", "c/gate", "e/gate"] {
        world.gate(id).await;
    }
    let timer = json!({ "id": "timer", "timeout_ms": 60_000, "tags": { "timer": "true" } });
    world.post("/v1/promises", timer).await.ok();
    let page =
        async |query: &str| world.get(&format!("/v1/promises?external=true{query}")).await.ok();
    let ids = |page: &serde_json::Value| {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|item| item["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    let all = page("").await;
    assert_eq!(
        (ids(&all), &all["next"]),
        (vec!["a/gate".into(), "c/gate".into(), "e/gate".into()], &serde_json::Value::Null)
    );
    let first = page("&limit=2").await;
    assert_eq!(
        (ids(&first), &first["next"]),
        (vec!["a/gate".into(), "c/gate".into()], &json!("c/gate"))
    );
    assert_eq!(ids(&page("&after=c/gate").await), ["e/gate"]);
    assert_eq!(world.get("/v1/promises").await.ok()["items"].as_array().map(Vec::len), Some(6));
}

#[tokio::test]
async fn an_outcome_that_comes_before_its_promise_says_that_it_is_kept_and_for_whom() {
    let world = ApiWorld::new();
    assert_eq!(world.upload("shop", "wasm desk order").await.status, 201);
    for (id, function, input) in
        [("d", "desk", json!(null)), ("o", "order", json!({ "items": [] }))]
    {
        let body = json!({ "id": id, "target": format!("shop/{function}"), "input": input });
        assert_eq!(world.post("/v1/invocations", body).await.status, 201);
    }
    for (id, name, declares) in [
        ("d", "aproved", json!(["approved"])),
        ("d", "approved", json!(["approved"])),
        ("o", "go", json!([])),
    ] {
        let path = format!("/v1/promises/{id}%2Fp%2F{name}");
        let settled = world.post(&format!("{path}/resolve"), json!({ "value": true })).await.ok();
        let kept = json!({ "invocation": id, "name": name, "declares": declares });
        assert_eq!(settled["kept_for"], kept, "{settled}");
        assert_eq!(world.get(&path).await.ok()["kept_for"], kept);
    }
    let why = world.get("/v1/invocations/d/why").await.ok();
    assert_eq!(why["chain"][0]["kept"], json!(["aproved", "approved"]), "{why}");
    let shown = world.get("/v1/invocations/d").await.ok();
    assert_eq!(shown["unread"]["promises"], json!(["aproved", "approved"]));
    // The outcome of a client's promise is not kept for a workflow.
    world.gate("gate").await;
    let settled = world.post("/v1/promises/gate/resolve", json!({ "value": 1 })).await.ok();
    assert!(settled.get("kept_for").is_none(), "{settled}");
}
