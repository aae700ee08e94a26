//! `segno stream`, and the errors of readers and writers.

use std::process::{Command, Output};

use serde_json::json;
use tests::test_host::TestHost;

use super::{SEGNO, host};

async fn stream(host: &TestHost, arguments: &[&str]) -> Output {
    let mut command = Command::new(SEGNO);
    command.arg("stream").args(arguments).args(["--server", &host.client().server()]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    ran.expect("it is waited for").expect("it runs")
}

async fn printed(host: &TestHost, arguments: &[&str]) -> String {
    let ran = stream(host, arguments).await;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_listed_printed_and_followed() {
    let host = host(&[]).await;
    let input = json!({ "items": 6, "pause_every": 2, "pause_ms": 100 });
    host.start_as("relayed", "teller/relay", input).await.expect("it starts");
    let followed = printed(&host, &["relayed", "tokens", "--follow"]).await;
    assert_eq!(followed, "0\n1\n2\n3\n4\n5\n");
    host.ended("relayed").await;
    assert_eq!(printed(&host, &["relayed", "log"]).await, "begin\nend\n");
    let listed = printed(&host, &["relayed"]).await;
    let lines: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().take(5).collect()).collect();
    assert_eq!(lines[1], ["log", "text/plain", "10", "bytes", "closed"]);
    assert_eq!(lines[2], ["tokens", "application/json", "6", "messages", "closed"]);

    let absent = stream(&host, &["relayed", "nothing"]).await;
    let said = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert_eq!(absent.status.code(), Some(3), "{said}");
    assert!(said.contains("`relayed` has no stream `nothing`; `segno stream relayed`"), "{said}");
    let unknown = stream(&host, &["nobody", "tokens"]).await;
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(3), "{said}");
    assert!(said.contains("there is no invocation `nobody`"), "{said}");
    let bad = stream(&host, &["relayed", "tokens", "--offset", "7"]).await;
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert!(said.contains("give the `Stream-Next-Offset` of an answer"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_the_rules_of_a_stream_is_named() {
    let host = host(&[]).await;
    for (rule, state, said) in [
        ("closed", "rejected", "is closed: nothing can be appended"),
        ("type", "halted", "has the content type `application/json`"),
        ("name", "halted", "no slash, and `a/b` is none"),
        ("bytes", "rejected", "bytes cannot be appended to `rules`, a stream of JSON"),
    ] {
        let id = format!("breach-{rule}");
        host.start_as(&id, "teller/breach", json!(rule)).await.expect("it starts");
        let is_over = |state: &str| state == "halted" || state == "rejected";
        let found = host.until(&id, "over", |it| is_over(it.state.as_str())).await;
        assert_eq!(found.state.as_str(), state, "{rule}");
        let all = serde_json::to_string(&found).expect("JSON");
        let all = all.replace("\\\"", "\"");
        assert!(all.contains(said), "{rule}: {all}");
    }
}
