//! Starting, awaiting, reading and stopping invocations.

use segno_core::{
    command::{Command, HeartbeatItem},
    id::Holder,
    promise::Verdict,
    value::Value as Stored,
};
use serde_json::{Value, json};

use super::{ApiWorld, Exit, host, run};

async fn finish(world: &ApiWorld, id: &str, verdict: Verdict, data: &str) {
    let claim = world.acquire(id).await;
    let value = Stored::of(data.as_bytes());
    world
        .command(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
        .await;
}

#[tokio::test]
async fn an_invocation_is_started_shown_and_awaited() {
    let (world, server) = host().await;
    let start = ["start", "shop/ship", "{\"no\": 1}", "--id", "a/1", "--label", "k=v"];
    let said = run(&server, &start).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "a/1  started\n"));
    let said = run(&server, &["start", "shop/ship", "2", "--id", "a/1"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Error, ""));
    assert!(
        said.err.contains("the id `a/1` was used for another request: another input"),
        "{}",
        said.err
    );
    assert!(said.err.contains("use another id"), "{}", said.err);
    let said = run(&server, &start).await;
    assert_eq!((said.exit, said.err.as_str()), (Exit::Done, ""));
    let said = run(&server, &["result", "a/1"]).await;
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(said.err.contains("has not ended: it is pending"), "{}", said.err);
    let call = ["call", "shop/ship", "{\"no\": 1}", "--id", "a/1", "--wait", "1ms"];
    assert_eq!(run(&server, &call).await.exit, Exit::TimedOut);
    finish(&world, "a/1", Verdict::Resolved, "{\"shipped\":true}").await;
    let said = run(&server, &["result", "a/1", "--wait", "5s"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "{\n  \"shipped\": true\n}\n"));
    // The result of another function is not shown as this one's.
    let said = run(&server, &["call", "shop/order", "{\"no\": 1}", "--id", "a/1"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Error, ""), "{}", said.err);
    assert!(said.err.contains("another target"), "{}", said.err);
    let said = run(&server, &["list", "--label", "k=v", "--json"]).await;
    assert_eq!(said.json()["items"][0]["state"], "resolved");
    let said = run(&server, &["list"]).await;
    assert!(said.out.contains("ID ") && said.out.contains("shop/ship"), "{}", said.out);
    let said = run(&server, &["inspect", "a/1"]).await;
    assert!(said.out.starts_with("a/1  shop/ship  resolved\n"), "{}", said.out);
    assert!(said.out.contains("{\"shipped\":true}"), "{}", said.out);
}

#[tokio::test]
async fn exit_codes_say_how_it_ended() {
    let (world, server) = host().await;
    world.start("failed").await.ok();
    finish(&world, "failed", Verdict::Rejected, "{\"code\":402,\"message\":\"declined\"}").await;
    let said = run(&server, &["result", "failed"]).await;
    assert_eq!(said.exit, Exit::Failed);
    assert_eq!(said.err, "`failed` is rejected: declined (code 402)\n");
    world.start("killed").await.ok();
    assert_eq!(run(&server, &["kill", "killed"]).await.out, "killed  killed\n");
    assert_eq!(run(&server, &["kill", "killed"]).await.out, "killed  had ended already\n");
    assert_eq!(run(&server, &["result", "killed"]).await.exit, Exit::Cancelled);
    for arguments in [
        &["result", "nothing"][..],
        &["inspect", "nothing"],
        &["cancel", "nothing"],
        &["resolve", "nothing"],
        &["modules", "nothing"],
        &["start", "shop/nothing"],
        &["start", "nothing/ship"],
    ] {
        let said = run(&server, arguments).await;
        assert_eq!(said.exit, Exit::NotFound, "{arguments:?}: {}", said.err);
        assert!(said.err.starts_with("error: "), "{}", said.err);
    }
    let said = run(&server, &["call", "shop/order", "{\"items\": \"all\"}", "--json"]).await;
    assert_eq!(said.exit, Exit::Error);
    let problem: Value = serde_json::from_str(&said.err).expect("a problem");
    assert_eq!(
        (&problem["code"], &problem["errors"][0]["path"]),
        (&json!("invalid-input"), &json!("/items"))
    );
    let said = run(&server, &["start", "shop/ship", "{no json"]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("is not JSON"), "{}", said.err);
}

#[tokio::test]
async fn the_id_of_an_ended_invocation_starts_nothing_and_says_how_it_ended() {
    let (world, server) = host().await;
    for (id, verdict, value, exit) in [
        ("good", Verdict::Resolved, "1", Exit::Done),
        ("bad", Verdict::Rejected, "{\"code\":402,\"message\":\"no\"}", Exit::Failed),
    ] {
        let start = ["start", "shop/ship", "{\"no\": 1}", "--id", id];
        assert_eq!(run(&server, &start).await.exit, Exit::Done);
        finish(&world, id, verdict, value).await;
        let said = run(&server, &start).await;
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(said.out.starts_with(&format!("{id}  exists, re")), "{}", said.out);
        assert!(
            said.err.contains(&format!("nothing was started: `{id}` ended before"))
                && said.err.contains("give another --id"),
            "{}",
            said.err
        );
        let said = run(&server, &["start", "shop/ship", "7", "--id", id, "--json"]).await;
        assert_eq!((said.exit, said.out.as_str()), (Exit::Error, ""));
        let problem: Value = serde_json::from_str(&said.err).expect("a problem");
        assert_eq!((&problem["code"], &problem["status"]), (&json!("key-reused"), &json!(409)));
    }
}

#[tokio::test]
async fn settling_waits_for_the_promise_and_for_the_end_of_its_invocation() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let said = run(&server, &["resolve", "a.gate", "true", "--wait", "1ms"]).await;
    assert_eq!(said.exit, Exit::NotFound, "{}", said.err);
    let resolve = ["resolve", "a.gate", "true", "--wait", "30s"];
    let moments = async || {
        world.api.host.env.runtime.sleep(segno_core::time::Millis(150)).await;
        let made = ["promise", "create", "a.gate", "--tag", "parent=a"];
        assert_eq!(run(&server, &made).await.exit, Exit::Done);
        world.api.host.env.runtime.sleep(segno_core::time::Millis(150)).await;
        finish(&world, "a", Verdict::Resolved, "\"done\"").await;
    };
    let (said, ()) = tokio::join!(run(&server, &resolve), moments());
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert_eq!(said.out, "a.gate  resolved  true\na  resolved\n");
    world.start("b").await.ok();
    run(&server, &["promise", "create", "b.gate", "--tag", "parent=b"]).await;
    let said = run(&server, &["reject", "b.gate", "--wait", "1ms", "--json"]).await;
    assert_eq!(
        (said.exit, &said.json()["invocation"]["state"]),
        (Exit::TimedOut, &json!("pending"))
    );
    run(&server, &["promise", "create", "alone"]).await;
    let said = run(&server, &["resolve", "alone", "--wait", "1ms"]).await;
    assert_eq!(said.exit, Exit::Done);
    assert!(said.err.contains("no invocation made `alone`"), "{}", said.err);
}

#[tokio::test]
async fn nobody_waits_for_ever_for_a_halted_invocation() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    world.halt("a").await;
    let arguments = ["call", "shop/ship", "{\"no\": 1}", "--id", "a"];
    let call = run(&server, &arguments);
    let said = world.api.host.env.within(segno_core::time::Millis(30_000), call).await;
    let said = said.expect("the command ends");
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(said.err.contains("`a` is halted: the replay leaves the journal"), "{}", said.err);
    let signal = run(&server, &["signal", "a", "nudge", "1", "--wait", "1h"]);
    let said = world.api.host.env.within(segno_core::time::Millis(30_000), signal).await;
    let said = said.expect("the command ends");
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(said.err.contains("`a` is halted: the replay leaves the journal"), "{}", said.err);
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("divergence: the replay leaves"), "{}", said.out);
    assert_eq!(run(&server, &["continue", "a"]).await.out, "a  continues\n");
}

#[tokio::test]
async fn an_inspected_activity_shows_how_far_it_got() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let claim = world.acquire("a").await;
    let holder = Holder { node: "test".into(), incarnation: 1 };
    let progress = Some((1, Some(b"{\"parcels\":3}".to_vec().into())));
    let items = vec![HeartbeatItem { claim, progress }];
    world.command(Command::TaskHeartbeat { holder, items }).await;
    let said = run(&server, &["inspect", "a"]).await;
    let line = said.out.lines().find(|line| line.trim_start().starts_with("progress"));
    assert!(line.is_some_and(|line| line.contains("{\"parcels\":3}")), "{}", said.out);
}

#[tokio::test]
async fn promises_and_signals_are_sent() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let claim = world.acquire("a").await;
    world.gate("gate").await;
    world.suspend(claim, ["gate".into()]).await;
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("settle it with `segno resolve gate JSON`"), "{}", said.out);
    let said = run(&server, &["signal", "a", "nudge", "1"]).await;
    assert_eq!(said.out, "a  signal 0 `nudge`\n");
    let said = run(&server, &["signal", "a", "nudge", "2", "--wait", "20ms"]).await;
    assert_eq!((said.exit, &*said.out), (Exit::TimedOut, "a  signal 1 `nudge`\na  suspended\n"));
    assert!(said.err.contains("`a` has not ended within --wait"), "{}", said.err);
    assert_eq!(
        run(&server, &["signal", "nobody", "nudge", "--wait", "20ms"]).await.exit,
        Exit::NotFound
    );
    // The settlement is stored until the workflow creates the promise.
    assert_eq!(run(&server, &["resolve", "a/p/gat", "1"]).await.exit, Exit::Done);
    assert_eq!(run(&server, &["resolve", "nobody/p/gat", "1"]).await.exit, Exit::NotFound);
    let said = run(&server, &["reject", "gate", "--message", "no", "--code", "409"]).await;
    assert_eq!(said.out, "gate  rejected  failed with 409: no\n");
    let said = run(&server, &["resolve", "gate", "1"]).await;
    assert!(said.err.contains("the first outcome stays"), "{}", said.err);
    assert_eq!(said.exit, Exit::Failed, "it is not resolved");
    assert_eq!(run(&server, &["reject", "gate", "no"]).await.exit, Exit::Done, "as it is");
    let said = run(&server, &["resolve", "a"]).await;
    assert!(said.err.contains("settles itself"), "{}", said.err);
    assert_eq!(run(&server, &["cancel", "a"]).await.out, "a  cancellation requested\n");
    let said = run(&server, &["continue", "a"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("`a` is pending"), "{}", said.err);
}

#[tokio::test]
async fn the_list_of_halted_invocations_says_why() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    world.halt("a").await;
    world.start("b").await.ok();
    let said = run(&server, &["halt", "b"]).await;
    assert_eq!(said.out, "b  halted; `segno continue b` sets it going again\n");
    assert_eq!(run(&server, &["halt", "b"]).await.out, "b  was halted already\n");
    assert_eq!(run(&server, &["halt", "b", "--json"]).await.json()["changed"], false);
    for arguments in [&["list", "--state", "halted"][..], &["list", "--stuck"]] {
        let said = run(&server, arguments).await;
        assert!(said.out.contains("\na  divergence: the replay leaves"), "{}", said.out);
        assert!(said.out.contains("\nb  halted by hand\n"), "{}", said.out);
    }
    assert!(!run(&server, &["list"]).await.out.contains("divergence"));
    assert_eq!(run(&server, &["halt", "nothing"]).await.exit, Exit::NotFound);
}

#[tokio::test]
async fn a_message_stands_behind_the_id_of_what_is_rejected() {
    let (_world, server) = host().await;
    for id in ["one", "two"] {
        run(&server, &["promise", "create", id]).await;
    }
    let said = run(&server, &["reject", "one", "too late"]).await;
    assert_eq!(said.out, "one  rejected  failed with 400: too late\n");
    let said = run(&server, &["reject", "two"]).await;
    assert_eq!(said.out, "two  rejected  failed with 400: rejected from outside\n");
}

#[tokio::test]
async fn what_a_schedule_started_shows_when_it_was_due() {
    let (world, server) = host().await;
    world.start("nightly@1794711600000").await.ok();
    let said = run(&server, &["inspect", "nightly@1794711600000"]).await;
    assert!(said.out.contains("  due       2026-11-15T03:00:00.000Z ("), "{}", said.out);
}

#[tokio::test]
async fn journals_and_logs_are_lines() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let digest = world.digest("shop").await;
    world.journal("a", digest).await;
    let said = run(&server, &["inspect", "a"]).await;
    let timeline: Vec<&str> =
        said.out.lines().skip_while(|line| !line.starts_with("journal")).collect();
    assert_eq!(timeline.len(), 4, "{}", said.out);
    assert!(timeline[1].contains("started ship {\"no\":1}"), "{}", said.out);
    assert!(timeline[2].contains("#0 run weigh {\"unit\":\"kg\"}"), "{}", said.out);
    assert!(timeline[3].contains("#0 ← failed with 422: too heavy"), "{}", said.out);
    let said = run(&server, &["inspect", "a", "--records", "1", "--json"]).await;
    assert_eq!(said.json()["journal"].as_array().map(Vec::len), Some(1));
    assert_eq!(said.json()["journal"][0]["seq"], 2);
    let said = run(&server, &["logs", "a"]).await;
    assert!(said.out.ends_with("warn   weighing\n"), "{}", said.out);
    assert_eq!(run(&server, &["logs", "a", "--level", "error"]).await.out, "");
}

#[tokio::test]
async fn a_journal_is_removed_and_whoever_looks_for_it_is_told() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let digest = world.digest("shop").await;
    let claim = world.journal("a", digest).await;
    let remove = ["remove", "--journal", "a"];
    let said = run(&server, &remove).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("has not ended and needs its journal"), "{}", said.err);
    let (verdict, value) = (Verdict::Resolved, Stored::of(&b"1"[..]));
    world
        .command(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
        .await;
    let said = run(&server, &remove).await;
    assert!(said.out.starts_with("a  its journal was removed on "), "{}{}", said.out, said.err);
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("its journal was removed on "), "{}", said.out);
    assert_eq!(run(&server, &["result", "a"]).await.out, "1\n");
    assert_eq!(run(&server, &["logs", "a"]).await.out, "");
    let said = run(&server, &["replay", "a"]).await;
    assert!(said.err.contains("its outcome is kept"), "{}", said.err);
}

#[tokio::test]
async fn lists_go_on_page_after_page() {
    let (world, server) = host().await;
    for n in 0..3 {
        world.start(&format!("a{n}")).await.ok();
    }
    let said = run(&server, &["list", "--limit", "2"]).await;
    assert_eq!(said.out.lines().count(), 5);
    assert!(said.out.ends_with("\n\n3 pending\n"), "{}", said.out);
    assert!(said.err.contains("there are more: add `--after "), "{}", said.err);
    let said = run(&server, &["list", "--all", "--json"]).await;
    assert_eq!(said.json()["items"].as_array().map(Vec::len), Some(3));
    let said = run(&server, &["list", "--state", "halted"]).await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no invocations\n"));
}

#[tokio::test]
async fn what_an_ended_invocation_never_read_is_in_the_list() {
    let (world, server) = host().await;
    for id in ["a", "b"] {
        world.start(id).await.ok();
    }
    for name in ["gate", "door"] {
        run(&server, &["resolve", &format!("a/p/{name}"), "1"]).await;
    }
    let said = run(&server, &["list"]).await;
    assert!(!said.out.contains("UNREAD"), "it may still make them: {}", said.out);
    finish(&world, "a", Verdict::Resolved, "1").await;
    let said = run(&server, &["list"]).await;
    let lines: Vec<Vec<&str>> =
        said.out.lines().take(3).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0].last(), Some(&"UNREAD"), "{}", said.out);
    let unread = |id: &str| lines.iter().find(|line| line[0] == id).and_then(|line| line.last());
    assert_eq!((unread("a"), unread("b")), (Some(&"2"), Some(&"0")), "{}", said.out);
}
