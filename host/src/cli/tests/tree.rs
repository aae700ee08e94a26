//! Drawing a call graph.

use segno_api::model::{JournalRecord, RecordKind};
use segno_client::Client;
use segno_core::{
    command::{ClaimRequest, Command},
    id::{Claim, Holder, PromiseId, Version},
    promise::{Note, ReleaseReason, Verdict},
    time::Millis,
    value::{Bytes, Text, Value},
};

use super::{Exit, WrittenBytes, host, run};
use crate::cli::{Console, attempts::FailedAttempts};

#[tokio::test]
async fn a_tree_is_drawn() {
    let (world, server) = host().await;
    world.start("order").await.ok();
    for (id, tags) in [
        ("order:0", &["parent=order", "target=poll://any@g"][..]),
        ("order:0.1", &["parent=order:0"]),
        ("order:1", &["parent=order"]),
        ("order:2", &["parent=order"]),
    ] {
        let tags = tags.iter().flat_map(|tag| ["--tag", tag]);
        let arguments: Vec<&str> = ["promise", "create", id].into_iter().chain(tags).collect();
        assert_eq!(run(&server, &arguments).await.exit, Exit::Done);
    }
    run(&server, &["resolve", "order:1"]).await;
    run(&server, &["reject", "order:2", "--message", "\u{1b}[31mno"]).await;
    let said = run(&server, &["tree", "order"]).await;
    let columns = |line: &str, n: usize| {
        let words: Vec<&str> = line.split("  ").filter(|word| !word.is_empty()).collect();
        words.get(n).map_or(String::new(), |word| word.trim().to_owned())
    };
    let lines: Vec<&str> = said.out.lines().collect();
    let ids: Vec<String> = lines.iter().map(|line| columns(line, 0)).collect();
    assert_eq!(ids[0], "order", "{}", said.out);
    assert!(
        lines[1].starts_with("├─ order:0 ") && lines[2].starts_with("│  └─ order:0.1 "),
        "{}",
        said.out
    );
    assert!(
        lines[3].starts_with("├─ order:1 ") && lines[4].starts_with("└─ order:2 "),
        "{}",
        said.out
    );
    assert!(lines[0].contains("shop/ship") && lines[0].contains("pending"), "{}", said.out);
    assert!(lines[3].contains("resolved"), "{}", said.out);
    assert!(
        lines[4].contains("400: \u{fffd}[31mno") && !said.out.contains('\u{1b}'),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order:0.1"]).await;
    assert!(
        said.out.starts_with("part of order › order:0  (segno tree order)\norder:0.1 "),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order", "--width", "1", "--depth", "1"]).await;
    assert!(
        said.out.contains("├─ … 2 left out: `--width 3` shows them\n└─ order:2 "),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order", "--all", "--json"]).await;
    assert_eq!(said.json()["nodes"].as_array().map(Vec::len), Some(5));
    let said = run(&server, &["tree", "order", "--limit", "2"]).await;
    assert!(said.err.contains("there is more: `--all`"), "{}", said.err);
    assert_eq!(run(&server, &["tree", "nothing"]).await.exit, Exit::NotFound);
}

#[tokio::test]
async fn attempts_that_failed_before_a_step_ended_are_told() {
    let (world, server) = host().await;
    world.start("order").await.ok();
    world.promise("order/0", &[("target", "poll://any@g"), ("parent", "order")]).await;
    // The version is incremented by a claim and by its loss.
    let acquire = async |version| {
        let claim = Claim { id: PromiseId::from("order/0"), version: Version(version) };
        let request =
            ClaimRequest { holder: Holder::worker("w"), nonce: version, ttl: Millis(60_000) };
        world
            .command(Command::TaskAcquire { claim: claim.clone(), request, stall_limit: None })
            .await;
        Claim { version: Version(version + 1), ..claim }
    };
    for (words, attempts) in [
        ("attempt 1 failed with 503: busy", 1),
        ("attempt 2 failed with 500: no \u{1b}[31mroom", 2),
    ] {
        let claim = acquire(2 * (attempts - 1)).await;
        let error = Note {
            kind: Text::from("failure"),
            message: Text::from(words),
            details: Bytes::default(),
        };
        let reason = ReleaseReason::Failed { retry_after: Some(Millis::ZERO), error, trap: None };
        world.command(Command::TaskRelease { claim, reason }).await;
        let tree = run(&server, &["tree", "order", "--json"]).await.json();
        assert_eq!(tree["nodes"][1]["attempt"], attempts);
    }
    let claim = acquire(4).await;
    let (records, logs, verdict) = (vec![], vec![], Verdict::Resolved);
    let value = Value::of(&b"1"[..]);
    world.command(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    let said = run(&server, &["tree", "order"]).await;
    let last = said.out.lines().last().unwrap_or_default();
    let words = "2 attempts failed, the last one with 500: no \u{fffd}[31mroom";
    assert!(last.contains(words), "{last}");

    // The same behind the record of the step, which does not mention them.
    let (out, err) = (WrittenBytes::default(), WrittenBytes::default());
    let mut console = Console::plain(out.clone(), err, false);
    let client = Client::new(&server, None).expect("an address");
    let failed = FailedAttempts::read(&client, "order").await.expect("there is a tree");
    let record = |kind, index| JournalRecord {
        seq: 1,
        at_ms: 0,
        kind,
        index: Some(index),
        command: None,
        name: None,
        request: None,
        outcome: None,
        module: None,
    };
    for (kind, index) in
        [(RecordKind::Command, 0), (RecordKind::Command, 1), (RecordKind::Notified, 0)]
    {
        failed.show(&record(kind, index), &mut console).expect("it is written");
    }
    assert_eq!(out.text(), format!("{:18}{words}\n", ""));
}
