//! `segno fork --dry-run` shows where the streams of the two part.

use std::process::Command;

use segno_api::model::RecordKind;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

use super::{SEGNO, host};

async fn fork(host: &TestHost, arguments: &[&str]) -> String {
    let mut command = Command::new(SEGNO);
    command.args(["fork", "--dry-run", "--server", &host.client().server()]).args(arguments);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    let ran = ran.expect("it is waited for").expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_result_shows_the_first_items_that_differ_side_by_side() {
    let host = host(&[]).await;
    host.start_as("report-1", "teller/report", json!({ "items": 3 })).await.expect("it starts");
    host.ended("report-1").await;
    let journal = host.client().whole_journal("report-1").await.expect("it has a journal");
    // Command 0 appends, command 1 calls.
    let told = journal.iter().position(|record| record.kind == RecordKind::Notified);
    let at = (told.expect("the call was answered") + 1).to_string();

    let same = fork(&host, &["report-1", "--at", &at]).await;
    assert!(same.contains("streams\n  = results 3 messages\n  = tokens 3 messages\n"), "{same}");
    let other = ["report-1", "--at", &at, "--set", "1=77"];
    let said = fork(&host, &other).await;
    let shown = "  ~ results differs from message 1 on (3 recorded, 3 now)
      RECORDED                              NOW
      0                                     77
      \"end\"                                 \"end\"
  = tokens 3 messages
";
    assert!(said.contains(shown), "{said}");
    assert!(said.contains("#2 append-stream results ← its effect was left out"), "{said}");
    assert!(!said.contains("no answer"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let json: Value = serde_json::from_str(&fork(&host, &[&other[..], &["--json"]].concat()).await)
        .expect("JSON");
    assert_eq!(
        json["dry_run"]["streams"][0],
        json!({
            "name": "results", "content_type": "application/json", "recorded_length": 3, "length": 3,
            "same": false, "compared": true, "differs_at": 1,
            "recorded": ["0", "\"end\""], "forked": ["77", "\"end\""],
        })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_code_shows_where_its_text_differs() {
    let host = host(&[]).await;
    host.start_as("relay-1", "teller/relay", json!({ "items": 2 })).await.expect("it starts");
    host.ended("relay-1").await;
    let mut changed = guests::component("teller");
    for at in 0..changed.len() {
        if changed[at..].starts_with(b"begin\n") {
            changed[at..at + 5].copy_from_slice(b"begun");
        }
    }
    host.deploy("changed", changed).await;
    let said = fork(&host, &["relay-1", "--at", "1", "--module", "changed"]).await;
    let shown = "  ~ log differs from byte 3 on (10 recorded, 10 now)
      RECORDED                              NOW
      begin                                 begun
      end                                   end
";
    assert!(said.contains(shown), "{said}");
}
