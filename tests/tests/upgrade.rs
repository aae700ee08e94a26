//! Another module under the same name: what is in flight ends on the code it began with.

use segno::api::model::ReplayVerdict;
use serde_json::json;
use tests::{fixtures, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

#[tokio::test(flavor = "multi_thread")]
async fn executions_end_on_the_code_they_began_with_and_new_ones_use_the_new() {
    let mut host = TestHost::start(SEGNO).await;
    let one = host.deploy("tune", fixtures::fixture("tune-one")).await;
    host.start_as("old", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "old").await;

    let replaced = host.client().deploy(fixtures::fixture("tune-two"), Some("tune")).await;
    let replaced = replaced.expect("it is deployed");
    assert_eq!(replaced.replaces.as_deref(), Some(one.as_str()));
    let two = replaced.module.digest;
    host.start_as("new", "tune/play", json!("waltz")).await.expect("it starts");
    waiting(&host, "new").await;

    // The code that an execution is pinned to is on disk, not in the process.
    host.server.kill().expect("it was alive");
    host.server.restart().await.expect("it comes back");
    for id in ["old", "new"] {
        let promise = format!("{id}/p/go");
        host.client().resolve(&promise, json!(true)).await.expect("it waits for it");
    }
    let (old, new) = (host.ended("old").await, host.ended("new").await);
    assert_eq!(old.output, Some(json!(["waltz", "one", "do", "mi"])));
    assert_eq!(old.module.as_deref(), Some(one.as_str()));
    assert_eq!(new.output, Some(json!(["waltz", "two", "re", "mi"])));
    assert_eq!(new.module.as_deref(), Some(two.as_str()));

    replays_name_the_first_difference(&host, &one).await;
}

async fn replays_name_the_first_difference(host: &TestHost, one: &str) {
    let client = host.client();
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
        host.ended("old").await.output
    );
}

async fn waiting(host: &TestHost, id: &str) {
    let promise = format!("{id}/p/go");
    host.until(id, "waiting for its promise", |seen| {
        seen.waits.iter().any(|wait| wait.id == promise)
    })
    .await;
}
