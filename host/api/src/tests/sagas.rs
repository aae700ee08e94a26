//! The states of sagas, from the facts and promises of an invocation.

use segno_core::promise::Verdict::{Canceled, Rejected, Resolved};
use serde_json::{Value, json};

use super::ApiWorld;

async fn saga(world: &ApiWorld) -> Value {
    let page = world.get("/v1/invocations/it/sagas").await.ok();
    let items = page["items"].as_array().expect("sagas");
    assert_eq!(items.len(), 1, "{page}");
    items[0].clone()
}

/// Returns the saga's state, its next step, and for each step its state and if it is registered.
fn told(saga: &Value) -> (Value, Value, Vec<(Value, bool)>) {
    let steps = saga["steps"].as_array().expect("steps").iter();
    let steps = steps.map(|step| (step["state"].clone(), step["registered"] == true));
    (saga["state"].clone(), saga["next_seq"].clone(), steps.collect())
}

#[tokio::test]
async fn a_saga_goes_on_until_something_is_undone() {
    let world = ApiWorld::shop().await;
    let claim = world.saga("it", &[false, true, false]).await;
    world.settle("it/0", Resolved, "1").await;
    world.settle("it/1", Canceled, "").await;
    let open = (json!("open"), false);
    let steps = vec![(json!("acted"), true), (json!("unknown"), true), open];
    assert_eq!(told(&saga(&world).await), (json!("forward"), Value::Null, steps));
    let invocation = world.get("/v1/invocations/it").await.ok();
    assert_eq!(invocation["sagas"], json!(["trip"]));

    world.settle("it/2", Rejected, "{\"code\":404,\"message\":\"no car\"}").await;
    world.undo(&claim, 1).await;
    let now = saga(&world).await;
    assert_eq!((&now["state"], &now["next_seq"]), (&json!("unwinding"), &json!(1)));
    let undo = json!({ "id": "it/c/trip/1", "state": "pending" });
    assert_eq!((&now["steps"][1]["undo"], &now["steps"][2]["state"]), (&undo, &json!("failed")));
    world.settle("it/c/trip/1", Resolved, "null").await;
    world.undo(&claim, 0).await;
    world.settle("it/c/trip/0", Resolved, "null").await;
    let now = saga(&world).await;
    assert_eq!((&now["state"], &now["next_seq"]), (&json!("undone"), &Value::Null));
    assert_eq!(now["steps"][0]["undo"]["state"], "completed");
    assert_eq!(now["steps"][0]["compensate"], "wasm:///undo");
}

#[tokio::test]
async fn a_step_that_cannot_be_undone_is_named_with_the_reason() {
    let world = ApiWorld::shop().await;
    let claim = world.saga("it", &[false, false]).await;
    world.settle("it/0", Resolved, "1").await;
    world.settle("it/1", Resolved, "1").await;
    world.undo(&claim, 1).await;
    world.settle("it/c/trip/1", Rejected, "{\"code\":410,\"message\":\"kept\"}").await;
    let now = saga(&world).await;
    assert_eq!((&now["state"], &now["next_seq"]), (&json!("failed"), &json!(1)));
    assert_eq!(now["steps"][1]["undo"]["failure"], json!({ "code": 410, "message": "kept" }));
    assert_eq!(now["steps"][0]["undo"], Value::Null);
}

#[tokio::test]
async fn what_a_person_says_of_an_unclear_step_decides() {
    for (verdict, state, next, registered) in
        [(Resolved, "acted", json!(1), true), (Rejected, "failed", json!(0), false)]
    {
        let world = ApiWorld::shop().await;
        let claim = world.saga("it", &[false, false]).await;
        world.settle("it/0", Resolved, "1").await;
        world.settle("it/1", Canceled, "").await;
        world.ask_about(&claim, 1).await;
        let now = saga(&world).await;
        assert_eq!((&now["state"], &now["next_seq"]), (&json!("unclear"), &json!(1)));
        assert_eq!(now["steps"][1]["question"], "it/u/trip/1");
        world.settle("it/u/trip/1", verdict, "null").await;
        let now = saga(&world).await;
        assert_eq!((&now["state"], &now["next_seq"]), (&json!("unwinding"), &next));
        let (_, _, steps) = told(&now);
        assert_eq!(steps[1], (json!(state), registered));
        assert_eq!(now["steps"][1]["question"], Value::Null);
    }
}

#[tokio::test]
async fn of_what_ended_well_nothing_is_undone() {
    let world = ApiWorld::shop().await;
    world.saga("it", &[false]).await;
    world.settle("it/0", Resolved, "1").await;
    world.settle("it", Resolved, "1").await;
    assert_eq!(saga(&world).await["state"], "kept");
    world.start("plain").await.ok();
    let page = world.get("/v1/invocations/plain/sagas").await.ok();
    assert_eq!(page, json!({ "id": "plain", "items": [] }));
    world.get("/v1/invocations/nobody/sagas").await.problem(404, "unknown-invocation");
}
