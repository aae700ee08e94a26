use serde_json::json;

use super::ApiWorld;

#[tokio::test]
async fn a_replay_needs_a_journal_and_a_module_that_can_run() {
    let world = ApiWorld::shop().await;
    let replay = |id: &str| format!("/v1/invocations/{id}/replay");
    world.post(&replay("a"), json!({})).await.problem(404, "unknown-invocation");
    world.start("a").await.ok();
    world.post(&replay("a"), json!({})).await.problem(409, "no-journal");
    let answer = world.post(&replay("a"), json!({ "module": "other" })).await;
    answer.problem(404, "unknown-module");
    // The modules of this host are not components: the report says so, with the progress so far,
    // and the request succeeds.
    let digest = world.digest("shop").await;
    world.journal("a", digest).await;
    let replayed = world.post(&replay("a"), json!({ "module": "shop" })).await.ok();
    assert_eq!((&replayed["verdict"], &replayed["matched"]), (&json!("failed"), &json!(0)));
    assert_eq!(
        (&replayed["journal_len"], &replayed["module"]),
        (&json!(3), &json!(digest.to_string()))
    );
    let why = replayed["error"].as_str().unwrap_or_default();
    assert!(why.contains(&digest.to_string()), "{why}");
}
