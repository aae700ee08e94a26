//! Workflows that read the streams of other executions.

use segno_api::model::{Invocation, InvocationState};
use segno_core::time::Millis;
use serde_json::{Value, json};
use tests::test_host::TestHost;

use super::host;

const ITEMS: u64 = 400;

async fn listen(host: &TestHost, id: &str, function: &str, of: [&str; 2]) {
    let input = json!({ "invocation": of[0], "stream": of[1] });
    host.start_as(id, &format!("teller/{function}"), input).await.expect("it starts");
}

/// The failure of an execution that reads.
async fn refused(host: &TestHost, id: &str, function: &str, of: [&str; 2]) -> (u32, String) {
    listen(host, id, function, of).await;
    let ended = host.ended(id).await;
    let failure = ended.failure.unwrap_or_else(|| panic!("{id} succeeds: {:?}", ended.output));
    (failure.code, failure.message)
}

fn output(ended: &Invocation) -> &Value {
    assert_eq!(ended.state, InvocationState::Resolved, "{ended:#?}");
    ended.output.as_ref().expect("it has an output")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_reads_what_another_writes_and_a_kill_changes_nothing() {
    let mut host = host(&[]).await;
    // It waits for an execution that exists and has written nothing yet.
    let input = json!({ "items": ITEMS, "pause_every": 20, "pause_ms": 60 });
    host.start_as("told", "teller/tell", input).await.expect("it starts");
    listen(&host, "listener", "listen", ["told", "numbers"]).await;
    host.env.runtime.sleep(Millis(500)).await;
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    let ended = host.ended("listener").await;
    assert_eq!(output(&ended)[0], ITEMS * (ITEMS - 1) / 2);
    assert!(output(&ended)[1].as_u64() > Some(1), "it read all at once");
    let replay = host.client().replay("listener", None).await.expect("a replay");
    assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");

    // A stream that is complete is read at once, also one of text.
    listen(&host, "late", "listen", ["told", "numbers"]).await;
    assert_eq!(output(&host.ended("late").await), &json!([ITEMS * (ITEMS - 1) / 2, 1]));
    let input = json!({ "items": 3 });
    host.start_as("relayed", "teller/relay", input).await.expect("it starts");
    listen(&host, "quoting", "quote", ["relayed", "log"]).await;
    assert_eq!(output(&host.ended("quoting").await), "begin\nend\n");

    let (code, said) = refused(&host, "x1", "listen", ["nobody", "numbers"]).await;
    assert!(code == 404 && said.contains("there is no invocation `nobody`"), "{said}");
    let (code, said) = refused(&host, "x2", "listen", ["told", "other"]).await;
    assert!(code == 404 && said.contains("`told` has no stream `other`"), "{said}");
    let (code, said) = refused(&host, "x3", "quote", ["told", "numbers"]).await;
    assert!(code == 422 && said.contains("consists of no text"), "{said}");
}
