//! Budgets at every start: graphs, schedules, signals and updates that start, and the commands.

use segno_api::model::{GraphQuery, SendUpdate, StartFirst};
use serde_json::{Value, json};
use tests::guests;

use super::{account, command::printed, host, spent};

/// The limit of `calls` of an execution's own budget.
async fn limit(host: &tests::test_host::TestHost, id: &str) -> Value {
    account(host.client(), id).await.units["calls"].limit.clone().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_stops_at_its_budget_and_a_retry_begins_with_the_same() {
    let host = host().await;
    let think =
        |needs: &[&str]| json!({ "call": "think", "needs": needs, "input": { "tokens": 4 } });
    let plan = json!({ "nodes": { "a": think(&[]), "b": think(&["a"]), "c": think(&["b"]) } });
    let file = host.folder().join("plan.json");
    std::fs::write(&file, plan.to_string()).expect("a file");
    let file = file.to_str().expect("text");
    let run = ["graph", "run", file, "--module", "purse", "--id", "g", "--budget", "calls=2"];
    printed(&host, &run).await;
    host.ended("g").await;
    let graph = host.client().graph("g", &GraphQuery::default()).await.expect("a run");
    let failed = graph.nodes.iter().find(|node| node.name == "c").expect("a node");
    assert_eq!(failed.failure.as_ref().map(|failure| failure.code), Some(402), "{failed:#?}");
    assert_eq!(spent(&account(host.client(), "g").await, "calls"), 2.0);
    printed(&host, &["graph", "retry-failed", "g"]).await;
    host.ended("g-r1").await;
    // The retry keeps the calls that the first run completed.
    assert_eq!(spent(&account(host.client(), "g-r1").await, "calls"), 1.0);
    assert_eq!(limit(&host, "g-r1").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_give_budgets_to_whatever_they_start() {
    let host = host().await;
    host.deploy("shelf", guests::component("shelf")).await;
    let plan = json!({ "calls": 3, "tokens": 1 }).to_string();
    let create = ["schedule", "create", "s", "0 0 1 1 *", "purse/spend", &plan];
    printed(&host, &[&create[..], &["--budget", "calls=2"]].concat()).await;
    let shown = printed(&host, &["schedule", "show", "s"]).await;
    assert!(shown.contains(&vec!["budget".into(), "calls".into(), "2".into()]), "{shown:?}");
    printed(&host, &["schedule", "trigger", "s", "--at", "2026-01-01T00:00:00Z"]).await;
    let ended = host.ended("s@1767225600000").await;
    assert_eq!(ended.output.expect("an output")["done"], 2);
    let start = ["--start", "shelf/answers", "--start-budget", "calls=5"];
    printed(&host, &[&["signal", "signalled", "go"][..], &start].concat()).await;
    printed(&host, &[&["update", "updated", "set", "7"][..], &start].concat()).await;
    let call = ["call", "shelf/Register@ada/swap", "1", "--id", "called", "--budget", "calls=5"];
    printed(&host, &call).await;
    for id in ["signalled", "updated", "called"] {
        assert_eq!(limit(&host, id).await, 5, "{id}");
    }
    let budget = [("calls".to_owned(), serde_json::Number::from_f64(-1.0).expect("a number"))];
    let (target, budget) = ("shelf/answers".to_owned(), budget.into());
    let start = Some(StartFirst { target, budget, ..StartFirst::default() });
    let update = SendUpdate { input: json!(7), start, ..SendUpdate::default() };
    let refused = host.client().update("never", "set", &update).await.expect_err("no budget");
    assert!(refused.to_string().contains("`budget` is refused: `-1"), "{refused}");
    assert!(host.client().invocation("never").await.is_err());
}
