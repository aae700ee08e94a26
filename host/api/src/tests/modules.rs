use axum::http::Method;
use serde_json::json;

use super::ApiWorld;

#[tokio::test]
async fn an_upload_is_described_and_can_be_fetched() {
    let world = ApiWorld::new();
    let answer = world.upload("shop", "wasm order ship").await;
    assert_eq!(answer.status, 201);
    let deployed = answer.ok();
    assert_eq!(deployed["created"], true);
    assert_eq!(deployed["alias"], "shop");
    let module = &deployed["module"];
    let digest = module["digest"].as_str().expect("a digest");
    assert_eq!(module["aliases"], json!(["shop"]));
    assert_eq!(module["functions"][0]["name"], "order");
    assert_eq!(module["functions"][0]["input_schema"]["required"], json!(["items"]));
    assert_eq!(module["imports"][0]["status"], "refused");
    for name in ["shop", digest, &digest[..8], &format!("sha256:{digest}")] {
        assert_eq!(world.get(&format!("/v1/modules/{name}")).await.ok()["digest"], digest);
    }
    let component = world.get("/v1/modules/shop/component").await;
    assert_eq!(component.content_type, "application/wasm");
    assert_eq!(component.ok(), "wasm order ship");
    assert_eq!(world.get("/v1/modules").await.ok()["modules"][0]["digest"], digest);
}

#[tokio::test]
async fn the_same_bytes_are_stored_once_and_an_alias_moves() {
    let world = ApiWorld::new();
    let first = world.upload("shop", "wasm order").await.ok();
    let again = world.upload("shop", "wasm order").await;
    assert_eq!(again.status, 200);
    let again = again.ok();
    assert_eq!((&again["created"], &again["replaces"]), (&json!(false), &json!(null)));
    let second = world.upload("shop", "wasm order ship").await.ok();
    assert_eq!(second["replaces"], first["module"]["digest"]);
    let modules = world.get("/v1/modules").await.ok();
    assert_eq!(modules["modules"].as_array().map(Vec::len), Some(2));
    let shop = world.get("/v1/modules/shop").await.ok();
    assert_eq!(shop["digest"], second["module"]["digest"]);
}

#[tokio::test]
async fn what_is_no_module_is_refused_with_its_own_code() {
    let world = ApiWorld::shop().await;
    let answer = world.upload("other", "hello").await;
    assert_eq!(answer.problem(422, "not-wasm"), "this is not WebAssembly");
    assert_eq!(answer.body["report"]["size"], 5);
    world.upload("a%2Fb", "wasm x").await.problem(400, "invalid-field");
    let answer = world.get("/v1/modules/nothing").await;
    assert!(answer.problem(404, "unknown-module").contains("there are shop"));
    assert_eq!(answer.body["known"], json!(["shop"]));
    let empty = ApiWorld::new().get("/v1/modules/x/component").await;
    assert!(empty.problem(404, "unknown-module").contains("segno deploy"));
}

#[tokio::test]
async fn a_name_is_taken_away_and_what_began_goes_on() {
    let world = ApiWorld::shop().await;
    world.start("order-1").await;
    let undeployed = world.send(Method::DELETE, "/v1/modules/shop", "").await.ok();
    assert_eq!(undeployed["alias"], "shop");
    assert_eq!(undeployed["module"]["aliases"], json!([]));
    assert_eq!(undeployed["module"]["in_use"], 1);
    let digest = undeployed["module"]["digest"].as_str().expect("a digest");
    let late = json!({ "target": "shop/order", "input": { "items": [] } });
    world.post("/v1/invocations", late).await.problem(404, "unknown-module");
    world.get(&format!("/v1/modules/{digest}")).await.ok();
    for gone in ["shop", digest] {
        let answer = world.send(Method::DELETE, &format!("/v1/modules/{gone}"), "").await;
        answer.problem(404, "unknown-module");
    }
}

#[tokio::test]
async fn a_module_is_described_with_the_limits_that_it_declares() {
    let world = ApiWorld::new();
    let deployed = world.upload("shop", "wasm order limited").await.ok();
    let rule = json!({ "key": "customer.id", "per_key": { "concurrency": 5 } });
    assert_eq!(deployed["module"]["functions"][1]["limit"], rule);
    let module = world.get("/v1/modules/shop").await.ok();
    assert_eq!(module["functions"][0].get("limit"), None);
    assert_eq!(module["functions"][1]["limit"], rule);
}
