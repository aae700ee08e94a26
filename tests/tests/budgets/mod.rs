//! Budgets on real hosts: what is charged, what is refused, and what a kill cannot change.

mod command;
mod killed;
mod starts;

use segno_api::model::{BudgetAccount, Invocation, StartInvocation};
use segno_client::Client;
use serde_json::{Number, Value, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A host with the module `purse`.
async fn host() -> TestHost {
    let host = TestHost::with(SEGNO, Default::default(), &[]).await;
    host.deploy("purse", guests::component("purse")).await;
    host
}

/// A start with a budget.
fn start(id: &str, function: &str, input: Value, budget: &[(&str, f64)]) -> StartInvocation {
    let number = |amount: f64| Number::from_f64(amount).expect("a number");
    StartInvocation {
        id: Some(id.to_owned()),
        target: format!("purse/{function}"),
        input,
        budget: budget.iter().map(|(unit, limit)| ((*unit).to_owned(), number(*limit))).collect(),
        ..StartInvocation::default()
    }
}

/// Starts an execution with a budget, and waits for its end.
async fn ended(
    host: &TestHost,
    id: &str,
    (function, input): (&str, Value),
    budget: &[(&str, f64)],
) -> Invocation {
    let start = start(id, function, input, budget);
    host.client().start(&start).await.unwrap_or_else(|error| panic!("{error}"));
    host.ended(id).await
}

/// The amount of a unit that is spent.
fn spent(account: &BudgetAccount, unit: &str) -> f64 {
    account.units[unit].spent.as_f64().expect("a number")
}

/// The budget of an execution.
async fn account(client: &Client, id: &str) -> BudgetAccount {
    let budget = client.budget(id).await.unwrap_or_else(|error| panic!("{error}"));
    budget.accounts.into_iter().next().expect("it has a budget")
}

fn output(invocation: &Invocation) -> &Value {
    invocation.output.as_ref().expect("it succeeded")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_told_that_its_budget_is_spent_and_goes_on_when_it_is_raised() {
    let host = host().await;
    let plan = json!({ "calls": 9, "tokens": 40 });
    let budget = [("tokens", 100.0), ("calls", 50.0), ("usd", 2.5)];
    let first = ended(&host, "first", ("spend", plan.clone()), &budget).await;
    assert_eq!(output(&first)["done"], 3);
    assert_eq!(output(&first)["code"], 402);
    let details = &output(&first)["details"];
    assert_eq!(details["account"], "first");
    assert_eq!(details["units"]["tokens"], json!({ "limit": 100, "spent": 120, "remaining": 0 }));
    let own = account(host.client(), "first").await;
    let amounts = ["tokens", "calls", "usd"].map(|unit| spent(&own, unit));
    // The fourth call was refused before it was sent.
    assert_eq!(amounts, [120.0, 3.0, 0.12]);
    // Without a budget nothing is refused.
    let free = ended(&host, "free", ("spend", plan), &[]).await;
    assert_eq!(output(&free)["done"], 9);
    assert!(host.client().budget("free").await.expect("an answer").accounts.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_made_at_once_stay_within_their_number() {
    let host = host().await;
    let plan = json!({ "calls": 40, "tokens": 1 });
    let wide = ended(&host, "wide", ("spread", plan), &[("calls", 7.0)]).await;
    assert_eq!(output(&wide)["done"], 7);
    assert_eq!(output(&wide)["code"], 402);
    assert_eq!(spent(&account(host.client(), "wide").await, "calls"), 7.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_fail_are_charged_and_end_with_the_budget() {
    let host = host().await;
    let thought = json!({ "tokens": 10, "fails": 2 });
    let third = ended(&host, "third", ("insist", thought), &[("tokens", 100.0)]).await;
    assert_eq!(output(&third), &json!(10));
    assert_eq!(spent(&account(host.client(), "third").await, "tokens"), 30.0);
    let thought = json!({ "tokens": 10, "fails": 900 });
    let never = ended(&host, "never", ("insist", thought), &[("calls", 5.0)]).await;
    let failure = never.failure.as_ref().expect("it failed");
    assert_eq!(failure.code, 402);
    assert!(failure.message.contains("5 of 5 calls are used"), "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_has_a_budget_of_its_own_and_spends_that_of_the_whole() {
    let host = host().await;
    let order = json!({ "limit": 60, "plan": { "calls": 9, "tokens": 25 } });
    let whole = ended(&host, "whole", ("delegate", order), &[("tokens", 100.0)]).await;
    assert_eq!(output(&whole)[0]["done"], 3);
    assert_eq!(output(&whole)[0]["details"]["account"], "whole/0");
    assert_eq!(output(&whole)[1], 25.0);
    let budget = host.client().budget("whole").await.expect("a budget");
    assert_eq!((budget.accounts.len(), budget.below.len()), (1, 1));
    assert_eq!(spent(&budget.below[0], "tokens"), 75.0);
    let part = host.client().budget("whole/0").await.expect("a budget");
    let names: Vec<&str> = part.accounts.iter().map(|account| account.id.as_str()).collect();
    assert_eq!(names, ["whole/0", "whole"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_no_workflow_has_a_budget_as_well() {
    let host = host().await;
    let thought = json!({ "tokens": 10, "fails": 3 });
    let alone = ended(&host, "alone", ("think", thought), &[("tokens", 25.0)]).await;
    assert_eq!(alone.failure.as_ref().map(|failure| failure.code), Some(402));
    assert_eq!(spent(&account(host.client(), "alone").await, "tokens"), 30.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_and_a_restart_keep_the_rules() {
    let host = host().await;
    let plan = json!({ "calls": 9, "tokens": 40 });
    ended(&host, "one", ("spend", plan), &[("tokens", 100.0)]).await;
    let replay = host.client().replay("one", None).await.expect("a replay");
    assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
    assert_eq!(spent(&account(host.client(), "one").await, "tokens"), 120.0);
    let again = Default::default();
    let again = host.client().restart("one", &again).await.expect("it starts once more");
    let ended = host.ended(&again.id).await;
    assert_eq!(output(&ended)["done"], 3);
    assert_eq!(spent(&account(host.client(), &again.id).await, "tokens"), 120.0);
}
