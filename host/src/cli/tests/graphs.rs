//! Graph runs and their display.

use segno_core::{
    command::Command,
    graph::NodeState::{Completed, Failed, Running, Skipped},
    promise::Verdict,
    value::Value,
};

use super::{Exit, host, run, run_in};

const PLAN: &str = r#"
name = "prices"
max_parallel = 4
[nodes.load]
call = "ship"
[nodes.left]
call = "ship"
needs = ["load"]
[nodes.right]
call = "order"
needs = ["load"]
[nodes.maybe]
call = "ship"
needs = ["load"]
when = { from = "input", is = 1 }
[nodes.ask]
promise = true
needs = ["left"]
[nodes.join]
call = "ship"
needs = ["ask", "right", "maybe"]
"#;

fn file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("p.toml");
    std::fs::write(&path, text).expect("a file");
    (dir, path.display().to_string())
}

#[tokio::test]
async fn a_plan_is_checked_with_and_without_a_host() {
    let (_dir, path) = file(PLAN);
    let said = run("http://127.0.0.1:1", &["graph", "check", &path]).await;
    assert!(
        said.out.contains("fine: 6 nodes, 7 edges, 4 deep, at most 3 side by side"),
        "{said:?}"
    );
    let (_, server) = host().await;
    let said = run(&server, &["graph", "check", &path, "--module", "shop", "--json"]).await;
    assert_eq!((said.exit, &said.json()["depth"]), (Exit::Done, &serde_json::json!(4)));
    let (_dir, bad) = file(&PLAN.replace("needs = [\"left\"]", "needs = [\"join\"]"));
    let said = run(&server, &["graph", "check", &bad]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(
        said.err.contains("p.toml cannot be run:\n") && said.err.contains("ask"),
        "{}",
        said.err
    );
    let (_dir, unknown) = file(&PLAN.replace("\"order\"", "\"odrer\""));
    let said = run(&server, &["graph", "run", &unknown, "--module", "shop"]).await;
    assert!(
        said.err.contains("\n  nodes.right.call: module `shop` has no function `odrer`"),
        "{}",
        said.err
    );
    let said = run(&server, &["graph", "list"]).await;
    assert!(said.err.contains("no runs of graphs"), "nothing was started: {said:?}");
    let said = run(&server, &["graph", "schema"]).await;
    assert_eq!(said.json()["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[tokio::test]
async fn a_run_is_drawn_with_its_states() {
    let (world, server) = host().await;
    let (_dir, path) = file(PLAN);
    let arguments = ["graph", "run", &path, "--module", "shop", "--id", "p1"];
    let said = run(&server, &arguments).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "p1  started\n"));
    assert_eq!(run(&server, &arguments).await.out, "p1  exists\n");
    let other = [&arguments[..], &["--input", "1"]].concat();
    let said = run(&server, &other).await;
    let reused = "the id `p1` was used for another request: another input; ";
    assert!(said.err.contains(reused), "{said:?}");
    assert_eq!((said.exit, said.out.as_str()), (Exit::Error, ""));

    let claim = world.acquire("p1").await;
    let begun = [
        ("load", Completed, Some(Ok("1"))),
        ("left", Completed, Some(Ok("2"))),
        ("maybe", Skipped, None),
        ("ask", Running, None),
        ("right", Running, None),
    ];
    world.nodes(&claim, &begun).await;
    world
        .settle("p1/n/right/0", Verdict::Rejected, "{\"code\":404,\"message\":\"sold out\"}")
        .await;
    world.nodes(&claim, &[("right", Failed, None)]).await;
    let said = run_in(Some(80), &server, &["graph", "show", "p1"]).await;
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("p1  prices  acquired  started "), "{}", said.out);
    assert_eq!(lines[1], "1 running, 2 completed, 1 skipped, 1 failed, 1 not-run");
    let drawn: Vec<String> = lines[3..]
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split("  ").filter(|word| !word.is_empty()).collect();
            words.iter().take(4).map(|word| word.trim()).collect::<Vec<_>>().join("|")
        })
        .collect();
    assert_eq!(
        drawn[..8],
        [
            "●|load|call ship|completed",
            "├─┬─┐",
            "● │ │|left|call ship|completed",
            "│ ● │|maybe|call ship|skipped",
            "│ │ ●|right|call order|failed",
            "● │ │|ask|promise|running",
            "├─┴─┘",
            "●|join|call ship|not-run",
        ],
        "{}",
        said.out
    );
    assert!(said.out.contains("\nright: failed with 404: sold out"), "{}", said.out);
    assert!(said.out.contains("\nask waits: segno resolve p1/n/ask/0 JSON"), "{}", said.out);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", said.out);

    let said = run(&server, &["graph", "show", "p1", "--format", "mermaid"]).await;
    assert!(said.out.starts_with("flowchart TD\n") && said.out.contains("[\"right\"]:::failed"));
    let said = run(&server, &["graph", "show", "p1", "--format", "dot"]).await;
    assert!(said.out.contains("\"left\" -> \"ask\";"), "{}", said.out);
    let said = run_in(Some(80), &server, &["graph", "show", "p1", "--format", "table"]).await;
    assert!(said.out.contains("join"), "{}", said.out);
    let said = run(&server, &["graph", "show", "p1", "--history"]).await;
    let right: Vec<&str> = said.out.lines().filter(|line| line.contains(" right ")).collect();
    assert_eq!(right.len(), 2, "{}", said.out);
    assert!(right[0].contains("running") && right[1].contains("failed"), "{}", said.out);
    let said = run(&server, &["graph", "show", "p1", "--history", "--json"]).await;
    assert_eq!(said.json()["facts"].as_array().map(Vec::len), Some(6), "{}", said.out);
    let said = run_in(Some(80), &server, &["inspect", "p1", "--records", "2"]).await;
    let history =
        said.out.split("\nhistory  the latest 2 of 6 facts; --records shows more\n").nth(1);
    let rows = history.expect("it has a history").lines().skip(1).count();
    assert_eq!(rows, 2, "{}", said.out);
    let said = run(&server, &["inspect", "p1", "--json"]).await;
    assert_eq!(said.json()["history"].as_array().map(Vec::len), Some(6), "{}", said.out);
    let said = run(&server, &["graph", "list"]).await;
    assert!(
        said.out.lines().nth(1).is_some_and(|line| line.starts_with("p1   acquired")),
        "{}",
        said.out
    );

    let said = run(&server, &["graph", "retry-failed", "p1"]).await;
    assert!(said.err.contains("`p1` has not ended: wait for it, or cancel it"), "{said:?}");
    let value = Value::of(&b"{\"code\":500,\"message\":\"`right` failed: sold out\"}"[..]);
    let (records, logs, verdict) = (vec![], vec![], Verdict::Rejected);
    world.command(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    let said = run(&server, &["graph", "show", "p1"]).await;
    assert!(said.out.contains("segno graph retry-failed p1"), "{}", said.out);
    let said = run(&server, &["graph", "retry-failed", "p1"]).await;
    assert_eq!(said.out, "p1-r1  started\n");
    let said = run(&server, &["graph", "show", "p1-r1"]).await;
    assert!(said.out.contains("takes over what p1 completed"), "{}", said.out);
    let said = run(&server, &["graph", "cancel", "p1-r1"]).await;
    assert!(said.out.contains("cancellation requested"), "{said:?}");
    world.start("order").await.ok();
    let said = run(&server, &["graph", "cancel", "order"]).await;
    assert!(said.err.contains("`order` has no plan"), "{said:?}");
}
