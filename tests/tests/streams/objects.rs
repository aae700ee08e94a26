//! Streams of objects.

use std::process::Command;

use serde_json::{Value, json};
use tests::test_host::TestHost;

use super::{SEGNO, host};

async fn segno(host: &TestHost, arguments: &[&str]) -> String {
    let mut command = Command::new(SEGNO);
    command.args(arguments).args(["--server", &host.client().server()]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    let ran = ran.expect("it is waited for").expect("it runs");
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

async fn ran(host: &TestHost, id: &str, target: &str, input: Value) -> Value {
    host.start_as(id, target, input).await.expect("it starts");
    serde_json::to_value(host.ended(id).await).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_object_is_read_listed_and_cleared() {
    let host = host(&[]).await;
    let (object, three) = ("teller/Ledger@a/b", json!({ "items": 3 }));
    let none = segno(&host, &["stream", object]).await;
    assert_eq!(none, format!("`{object}` has written no stream\n"));
    ran(&host, "first", &format!("{object}/add"), three.clone()).await;
    ran(&host, "second", &format!("{object}/add"), three).await;
    assert_eq!(segno(&host, &["stream", object, "log"]).await, "0\n1\n2\n3\n4\n5\n");
    let listed = segno(&host, &["stream", object]).await;
    let line: Vec<&str> = listed.lines().nth(1).expect("a stream").split_whitespace().collect();
    assert_eq!(line[..5], ["log", "application/json", "6", "messages", "open"], "{listed}");
    // Neither an execution nor the object's promises have it.
    assert_eq!(host.client().streams("first").await.expect("a list").streams, []);
    let shown = segno(&host, &["object", "get", object]).await;
    assert!(shown.contains("next") && !shown.contains("segno:streams"), "{shown}");

    // A workflow reads it while it grows.
    let source = json!({ "invocation": object, "stream": "log" });
    host.start_as("reader", "teller/listen", source).await.expect("it starts");
    ran(&host, "ending", &format!("{object}/end"), Value::Null).await;
    let heard = serde_json::to_value(host.ended("reader").await).expect("JSON");
    assert_eq!(heard["output"][0], json!(15), "{heard}");

    let cheated = format!("{object}/cheat");
    host.start_as("cheated", &cheated, Value::Null).await.expect("it starts");
    let over = |state: &str| state == "halted" || state == "rejected";
    let found = host.until("cheated", "over", |it| over(it.state.as_str())).await;
    let all = serde_json::to_string(&found).expect("JSON");
    assert!(all.contains("is refused in a function whose access is `shared`"), "{all}");
    host.client().kill("cheated").await.unwrap_or_else(|error| panic!("{error}"));

    let cleared = segno(&host, &["object", "clear", object, "--all"]).await;
    let gone = segno(&host, &["stream", object, "log"]).await;
    assert!(gone.contains("has not been written"), "{cleared}{gone}");
}
