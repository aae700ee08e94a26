//! Another module under the same name: what is in flight ends on the code it began with.

use segno::api::model::ReplayVerdict;
use serde_json::json;
use tests::{fixtures, stage::Stage};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

#[tokio::test(flavor = "multi_thread")]
async fn executions_end_on_the_code_they_began_with_and_new_ones_use_the_new() {
    let mut stage = Stage::start(SEGNO).await;
    let one = stage.deploy("tune", fixtures::fixture("tune-one")).await;
    stage.start_as("old", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&stage, "old").await;

    let replaced = stage.client().deploy(fixtures::fixture("tune-two"), Some("tune")).await;
    let replaced = replaced.expect("it is deployed");
    assert_eq!(replaced.replaces.as_deref(), Some(one.as_str()));
    let two = replaced.module.digest;
    stage.start_as("new", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&stage, "new").await;

    // The code that an execution is pinned to is on disk, not in the process.
    stage.server.kill().expect("it was alive");
    stage.server.restart().await.expect("it comes back");
    for id in ["old", "new"] {
        let promise = format!("{id}/p/go");
        stage.client().resolve(&promise, json!(true)).await.expect("it waits for it");
    }
    let (old, new) = (stage.ended("old").await, stage.ended("new").await);
    assert_eq!(old.output, Some(json!(["waltz", "one", "do", "mi"])));
    assert_eq!(old.module.as_deref(), Some(one.as_str()));
    assert_eq!(new.output, Some(json!(["waltz", "two", "re", "mi"])));
    assert_eq!(new.module.as_deref(), Some(two.as_str()));

    replays_name_the_first_difference(&stage, &one).await;
}

async fn replays_name_the_first_difference(stage: &Stage, one: &str) {
    let client = stage.client();
    let own = client.replay("old", None).await.expect("it can be replayed");
    assert_eq!((own.verdict, own.module.as_str()), (ReplayVerdict::Identical, one));
    assert_eq!(own.matched, own.journal_len);

    let other = client.replay("old", Some("tune")).await.expect("it can be replayed");
    assert_eq!(other.verdict, ReplayVerdict::Diverged);
    let divergence = other.divergence.expect("it says where");
    assert_eq!(divergence.index, Some(0), "the first command differs: {divergence:#?}");
    let field = divergence.fields.iter().find(|field| field.recorded.contains("do"));
    let field = field.unwrap_or_else(|| panic!("no field shows what is recorded: {divergence:#?}"));
    assert!(field.asked.contains("re"), "{field:?}");

    // Nothing was changed by looking.
    assert_eq!(
        client.invocation("old").await.expect("it is there").output,
        stage.ended("old").await.output
    );
}

async fn waiting(stage: &Stage, id: &str) {
    let promise = format!("{id}/p/go");
    stage
        .until(id, "waiting for its promise", |seen| {
            seen.waits.iter().any(|wait| wait.id == promise)
        })
        .await;
}
