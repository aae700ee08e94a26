//! Replays of the real examples: read-only, and from each of their records with a byte-identical
//! journal.

use std::sync::Arc;

use segno_core::{id::Digest, promise::Verdict, time::Millis};
use segno_engine::worker;
use segno_guest::Guests;
use segno_sim::PlannedFaults;
use serde_json::{Value as Json, json};
use tests::{
    guests::{self, engine},
    replaying::reruns_from_every_place,
    world::World,
};

/// Runs a function of an example to its end, resolving these promises, and replays it.
async fn replays(module: &str, function: &str, input: Json, resolves: &[(&str, Json)]) {
    replays_after(Millis::ZERO, module, function, input, resolves).await;
}

/// Does the same for a workflow that sleeps for at least `length`.
async fn replays_after(
    length: Millis,
    module: &str,
    function: &str,
    input: Json,
    resolves: &[(&str, Json)],
) {
    let component: Arc<[u8]> = guests::component(module).into();
    let guests = engine(std::slice::from_ref(&component));
    guests.describe(Digest::of(&component)).await.expect("it describes itself");
    let mut world = World::new(guests.clone(), module, component, PlannedFaults::default()).await;
    world.start("it", &format!("wasm://{module}/{function}"), &input).await;
    for (promise, value) in resolves {
        let id = format!("it/p/{promise}");
        world.until(&id, async |world| world.promise(&id).await.is_some()).await;
        world.resolve(&id, value).await;
    }
    world.pass(length).await;
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    let host = world.host();
    let report = worker::replay(&host, &"it".into(), None).await.expect("it can be replayed");
    assert!(report.is_identical() && report.finished, "{report:?}");
    assert_eq!(report.matched, report.records);
    reruns_from_every_place(&*guests, &world, "it").await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn hello_is_the_same_from_every_place() {
    replays("hello", "hello", json!("Ada"), &[]).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn order_is_the_same_from_every_place() {
    let item = |sku: &str| json!({ "sku": sku, "quantity": 1, "price_cents": 1250 });
    let items = [item("tea"), item("cup"), item("pot")];
    let input = json!({ "id": "o-1", "items": items, "payments": "http://payments" });
    replays("order", "order", input, &[("approval", json!(true))]).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn approval_is_the_same_from_every_place() {
    let input = json!({ "title": "Annual report", "approver": "Ada" });
    replays("approval", "approval", input, &[("decision", json!("approve"))]).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn fan_out_is_the_same_from_every_place() {
    replays("fan-out", "fan_out", json!({ "children": 8 }), &[]).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn reminder_is_the_same_from_every_place() {
    let input = json!({ "who": "Ada", "what": "water the tree", "days": 2 });
    replays_after(Millis(2 * 24 * 60 * 60 * 1_000), "reminder", "remind", input, &[]).await;
}
