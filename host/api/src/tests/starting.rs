use segno_core::{promise::RetryPolicy, tags};
use segno_engine::values;
use serde_json::json;

use super::ApiWorld;

#[tokio::test]
async fn a_start_makes_an_invocation_pinned_to_its_module() {
    let world = ApiWorld::shop().await;
    let answer = world
        .post(
            "/v1/invocations",
            json!({
                "id": "order/1", "target": "wasm://shop/order", "input": { "items": [1] },
                "timeout_ms": 60_000, "labels": { "customer": "42" }
            }),
        )
        .await;
    assert_eq!(answer.status, 201);
    let started = answer.ok();
    assert_eq!((&started["id"], &started["created"]), (&json!("order/1"), &json!(true)));
    assert_eq!(started["invocation"]["state"], "pending");
    let shown = world.get("/v1/invocations/order%2F1").await.ok();
    let module = world.get("/v1/modules/shop").await.ok();
    assert_eq!(shown["module"], module["digest"]);
    assert_eq!(shown["function"], "order");
    assert_eq!(shown["input"], json!({ "items": [1] }));
    assert_eq!(shown["labels"], json!({ "customer": "42" }));
    let limit = shown["timeout_at_ms"].as_i64().zip(shown["created_at_ms"].as_i64());
    assert!(limit.is_some_and(|(end, begin)| (59_000..=61_000).contains(&(end - begin))));
    let promise = world.get("/v1/promises/order%2F1").await.ok();
    assert_eq!(promise["param"], json!({ "func": "order", "args": [{ "items": [1] }] }));
}

#[tokio::test]
async fn the_same_id_again_answers_the_first_execution() {
    let world = ApiWorld::shop().await;
    assert_eq!(world.start("a").await.status, 201);
    let again = world.start("a").await;
    assert_eq!(again.status, 200);
    assert_eq!(again.ok()["created"], json!(false));
    for (body, what) in [
        (json!({ "id": "a", "target": "shop/ship", "input": 2 }), "another input"),
        (json!({ "id": "a", "target": "shop/order", "input": { "no": 1 } }), "another target"),
        (json!({ "id": "a", "target": "gone/gone" }), "another target and another input"),
    ] {
        let answer = world.post("/v1/invocations", body).await;
        let said = answer.problem(409, "key-reused");
        assert!(
            said.contains("the id `a` was used for another request") && said.contains(what),
            "{said}"
        );
    }
    assert_eq!(world.get("/v1/invocations").await.ok()["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn concurrent_starts_with_one_id_make_one_invocation() {
    let world = ApiWorld::shop().await;
    let answers = futures::future::join_all((0..16).map(|_| world.start("a"))).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1);
    assert!(answers.iter().all(|answer| answer.status.is_success()));
}

#[tokio::test]
async fn ids_are_made_up_where_none_is_given() {
    let world = ApiWorld::shop().await;
    let body = json!({ "target": "shop/ship" });
    let first = world.post("/v1/invocations", body.clone()).await.ok();
    let second = world.post("/v1/invocations", body).await.ok();
    assert_ne!(first["id"], second["id"]);
    assert!(first["id"].as_str().is_some_and(|id| id.starts_with("ship-")));
}

#[tokio::test]
async fn what_is_unknown_is_answered_with_what_there_is() {
    let world = ApiWorld::shop().await;
    let answer = world.post("/v1/invocations", json!({ "target": "shpo/ship" })).await;
    assert!(answer.problem(404, "unknown-module").contains("`shpo`"));
    assert_eq!(answer.body["known"], json!(["shop"]));
    let answer = world.post("/v1/invocations", json!({ "target": "shop/shipp" })).await;
    assert!(answer.problem(404, "unknown-function").contains("it has order, ship, short"));
    assert_eq!(answer.body["known"], json!(["order", "ship", "short"]));
    for target in ["ship", "http://x/y", "wasm:///ship"] {
        let answer = world.post("/v1/invocations", json!({ "target": target })).await;
        answer.problem(400, "invalid-target");
    }
}

#[tokio::test]
async fn input_that_does_not_fit_is_refused_with_its_place() {
    let world = ApiWorld::shop().await;
    let start = |input| json!({ "id": "a", "target": "shop/order", "input": input });
    let answer = world.post("/v1/invocations", start(json!({ "items": [1, "two"] }))).await;
    assert!(answer.problem(422, "invalid-input").contains("/items/1"));
    assert_eq!(answer.body["errors"][0]["path"], "/items/1");
    let answer = world.post("/v1/invocations", start(json!({}))).await;
    assert!(answer.problem(422, "invalid-input").contains("items"));
    world.get("/v1/invocations/a").await.problem(404, "unknown-invocation");
    // The new version accepts an input that the old one refused.
    world.upload("shop", "wasm ship order2").await.ok();
    let body = json!({ "target": "shop/order2", "input": "anything" });
    assert_eq!(world.post("/v1/invocations", body).await.status, 201);
}

#[tokio::test]
async fn impossible_ids_and_fields_are_refused() {
    let world = ApiWorld::shop().await;
    for id in ["", ".", "..", "a\nb", " ", "\u{a0}\u{200b}", &"a".repeat(2_049)] {
        world.start(id).await.problem(400, "invalid-id");
    }
    for body in [
        json!({ "target": "shop/ship", "start_at_ms": -1 }),
        json!({ "target": "shop/ship", "labels": { "": "x" } }),
        json!({ "target": "shop/ship", "labels": { "\u{200b}": "x" } }),
    ] {
        world.post("/v1/invocations", body).await.problem(400, "invalid-field");
    }
}

#[tokio::test]
async fn a_digest_is_a_target_too_and_a_function_has_its_own_limit() {
    let world = ApiWorld::shop().await;
    let digest = world.get("/v1/modules/shop").await.ok()["digest"].clone();
    let digest = digest.as_str().expect("a digest");
    let later = world.api.host.env.clock.now().0 + 5_000;
    for (id, module) in [("a", digest.to_owned()), ("b", format!("sha256:{digest}"))] {
        let target = format!("{module}/short");
        let body = json!({ "id": id, "target": target, "start_at_ms": later });
        let started = world.post("/v1/invocations", body.clone()).await.ok();
        assert_eq!(started["invocation"]["target"], format!("wasm://sha256:{digest}/short"));
        assert_eq!(world.post("/v1/invocations", body).await.ok()["created"], json!(false));
        // Also by a prefix of the digest.
        let short = format!("{}/short", &digest[..12]);
        let body = json!({ "id": id, "target": short, "start_at_ms": later });
        assert_eq!(world.post("/v1/invocations", body).await.ok()["created"], json!(false));
        let shown = world.get(&format!("/v1/invocations/{id}")).await.ok();
        assert_eq!(shown["start_at_ms"], later);
        assert_eq!(shown["timeout_at_ms"], later + 1_000);
    }
}

#[tokio::test]
async fn a_start_says_how_attempts_go_and_a_restart_repeats_it() {
    let world = ApiWorld::shop().await;
    let start = |id: &str, more: serde_json::Value| {
        let mut body = json!({ "id": id, "target": "shop/ship", "input": 1 });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        world.post("/v1/invocations", body)
    };
    let asked = json!({ "retry": { "max_attempts": 3, "factor": 1.5 }, "attempt_timeout_ms": 250 });
    assert_eq!(start("a", asked).await.status, 201);
    let restart = world.post("/v1/invocations/a/restart", json!({ "id": "b" })).await;
    assert_eq!(restart.status, 201, "{restart:?}");
    for id in ["a", "b"] {
        let row = world.api.host.store.read().promise(&id.into()).await.expect("it answers");
        let promise = row.expect("it is there").promise;
        let headers = &promise.spec.param.headers;
        assert_eq!(headers[tags::ATTEMPT_TIMEOUT_HEADER], "250", "{id}");
        let policy = values::read_policy(&headers[tags::RETRY_HEADER]).expect("a policy");
        assert_eq!((policy.max_attempts, policy.factor), (Some(3), 1.5), "{id}");
        assert_eq!(policy.initial_ms, RetryPolicy::default().initial_ms, "{id}");
    }
    for (more, field) in [
        (json!({ "attempt_timeout_ms": 0 }), "attempt_timeout_ms"),
        (json!({ "retry": { "max_attempts": 0 } }), "max_attempts"),
        (json!({ "retry": { "jitter": 2 } }), "jitter"),
    ] {
        let answer = start("c", more).await;
        let said = answer.problem(400, "invalid-field");
        assert!(said.contains(field), "{said}");
    }
}
