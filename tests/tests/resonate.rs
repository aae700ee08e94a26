//! Released clients of the Resonate protocol, unmodified, on a real host. Applications run, workers
//! and hosts are killed, and functions of modules and of workers call each other. The clients are
//! npm `@resonatehq/sdk` 0.11.5, PyPI `resonate-sdk` 0.8.1 and crates.io `resonate-sdk` 0.6.0.
//!
//! The suite runs with `SEGNO_CLIENTS=1`. `SEGNO_CLIENTS=required` fails if the clients cannot be
//! installed.

use std::{fs, path::PathBuf};

use segno_api::model::{InvocationQuery, PromiseQuery, PromiseState, PromiseSummary};
use serde_json::{Value, json};
use tests::{
    guests,
    resonate::{Language, Worker, answer},
    test_host::TestHost,
};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A host, the language of its workers, and the file in which they record their executions.
struct Fixture {
    host: TestHost,
    language: Language,
    ledger: PathBuf,
}

impl Fixture {
    async fn new(language: Language, arguments: &[&str]) -> Self {
        let host = TestHost::with(SEGNO, Default::default(), arguments).await;
        let ledger = host.folder().join("ledger");
        Self { host, language, ledger }
    }

    fn url(&self) -> String {
        self.host.client().server()
    }

    fn worker(&self, name: &str) -> Worker {
        self.language.worker(&self.url(), name, 60_000, &self.ledger)
    }

    fn hasty_worker(&self, name: &str) -> Worker {
        self.language.worker(&self.url(), name, 2_000, &self.ledger)
    }

    /// Answer to a client's request.
    fn ask(&self, arguments: &[&str]) -> Value {
        answer(self.language.asks(&self.url(), arguments))
    }

    #[track_caller]
    fn expect(&self, arguments: &[&str], value: Value) {
        let answered = self.ask(arguments);
        assert_eq!(answered["value"], value, "{arguments:?}: {answered}");
    }

    /// Number of occurrences of a line in the ledger.
    fn noted(&self, line: &str) -> usize {
        let ledger = fs::read_to_string(&self.ledger).unwrap_or_default();
        ledger.lines().filter(|noted| *noted == line).count()
    }

    async fn until(&self, what: &str, seen: impl AsyncFn() -> bool) {
        for _ in 0..600 {
            if seen().await {
                return;
            }
            pause(50).await;
        }
        panic!("it never came to this: {what}");
    }

    async fn state(&self, id: &str) -> Option<String> {
        let promise = self.host.client().promise(id).await.ok()?;
        Some(format!("{:?}", promise.state).to_lowercase())
    }

    /// The invocation `root` and all promises below it.
    async fn family(&self, root: &str) -> (PromiseSummary, Vec<PromiseSummary>) {
        let query = PromiseQuery { prefix: Some(root.to_owned()), ..PromiseQuery::default() };
        let page = self.host.client().promises(&query).await;
        let mut promises = page.unwrap_or_else(|error| panic!("{error}")).items;
        let at = promises.iter().position(|promise| promise.id == root);
        let at = at.unwrap_or_else(|| panic!("`{root}` is there: {promises:#?}"));
        (promises.remove(at), promises)
    }

    /// Children of `root`. Checks that they ended before it, and have no later deadline.
    async fn ended_children(&self, root: &str) -> Vec<PromiseSummary> {
        let (root, children) = self.family(root).await;
        for child in &children {
            assert_eq!(child.tags.get("parent"), Some(&root.id), "{child:#?}");
            assert!(child.settled_at_ms.is_some(), "it has ended: {child:#?}");
            assert!(child.settled_at_ms <= root.settled_at_ms, "{child:#?} of {root:#?}");
            assert!(child.timeout_at_ms <= root.timeout_at_ms, "{child:#?} of {root:#?}");
        }
        children
    }
}

async fn pause(ms: u64) {
    let length = segno_core::time::Millis(ms.try_into().expect("it is short"));
    segno_env::Env::system().runtime.sleep(length).await;
}

/// Runs each of these scenarios for every language.
macro_rules! in_each_language {
    ($($scenario:ident),* $(,)?) => {
        mod typescript {
            use super::Language;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $scenario() {
                let Some(language) = Language::typescript() else { return };
                super::$scenario(language).await;
            })*
        }
        mod python {
            use super::Language;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $scenario() {
                let Some(language) = Language::python() else { return };
                super::$scenario(language).await;
            })*
        }
        mod rust {
            use super::Language;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $scenario() {
                let Some(language) = Language::rust() else { return };
                super::$scenario(language).await;
            })*
        }
    };
}

in_each_language!(
    an_application_runs,
    a_person_and_a_schedule_take_part,
    two_who_start_the_same_are_told_the_same,
    a_body_outlives_its_lease_by_heartbeats,
    another_worker_takes_over_from_one_that_was_killed,
    workflows_go_on_when_the_host_is_killed,
    workflows_go_on_when_a_host_on_postgresql_is_killed,
    functions_of_modules_and_of_workers_call_each_other,
    a_parent_ends_after_children_that_it_does_not_await,
    children_that_nobody_awaits_go_on_when_their_worker_is_killed,
    a_failure_is_told_after_the_siblings_have_ended,
    a_detached_call_outlives_its_parent,
);

async fn an_application_runs(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let (_one, _two) = (fixture.worker("one"), fixture.worker("two"));
    fixture.expect(&["run", "run-1", "parent", "1"], json!(4));
    fixture.expect(&["rpc", "rpc-1", "parent", "5"], json!(12));
    fixture.expect(&["rpc", "rpc-1", "parent", "7"], json!(12));
    fixture.expect(&["rpc", "fan-1", "fan_out", "100"], json!(4950));
    fixture.expect(&["rpc", "fib-1", "fibonacci", "8"], json!(21));
    fixture.expect(&["rpc", "fib-2", "fibonacci_local", "10"], json!(55));
    fixture.expect(&["rpc", "nap-1", "nap", "700"], json!("rested"));
    fixture.expect(&["rpc", "stubborn-1", "stubborn"], json!(3));
    assert_eq!(fixture.noted("attempt"), 3);
    let failed = fixture.ask(&["rpc", "fail-1", "fail", "\"no stock\""]);
    assert!(failed["error"].as_str().is_some_and(|error| error.contains("no stock")), "{failed}");
}

async fn a_person_and_a_schedule_take_part(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let _worker = fixture.worker("one");
    let asked = fixture.language.asks(&fixture.url(), &["rpc", "ask-1", "approval"]);
    let open = fixture.language.first_step("ask-1");
    fixture.until("it waits for a person", async || fixture.state(&open).await.is_some()).await;
    fixture.ask(&["settle", &open, "\"granted\""]);
    assert_eq!(answer(asked)["value"], "granted");

    fixture.ask(&["schedule", "tick", "echo", "7"]);
    let ran = async || {
        let query = InvocationQuery {
            prefix: Some(fixture.language.scheduled("tick")),
            state: Some("resolved".to_owned()),
            ..InvocationQuery::default()
        };
        fixture.host.client().list(&query).await.is_ok_and(|page| page.items.len() >= 2)
    };
    fixture.until("the schedule ran twice", ran).await;
    let deleted = fixture.ask(&["unschedule", "tick"]);
    assert_eq!(deleted.get("error"), None, "{deleted}");
}

async fn two_who_start_the_same_are_told_the_same(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let _worker = fixture.worker("one");
    let asked: Vec<_> = (0..3)
        .map(|_| fixture.language.asks(&fixture.url(), &["rpc", "same", "steps", "3", "100"]))
        .collect();
    for client in asked {
        assert_eq!(answer(client)["value"], 3);
    }
    for step in ["step 0", "step 1", "step 2"] {
        assert_eq!(fixture.noted(step), 1, "{step}");
    }
}

async fn a_body_outlives_its_lease_by_heartbeats(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let _worker = fixture.hasty_worker("one");
    fixture.expect(&["rpc", "slow", "dawdle", "5000"], json!("done"));
    assert_eq!(fixture.noted("dawdled"), 1, "no other worker acquired it");
}

async fn another_worker_takes_over_from_one_that_was_killed(language: Language) {
    // The lease lasts a minute, so only the closed stream reveals that the worker is gone.
    let fixture = Fixture::new(language, &["--grace-s", "0.5"]).await;
    let first = fixture.worker("first");
    let asked = fixture.language.asks(&fixture.url(), &["rpc", "work", "steps", "20", "150"]);
    fixture.until("it is in the middle", async || fixture.noted("step 5") > 0).await;
    let _second = fixture.worker("second");
    first.kill();
    assert_eq!(answer(asked)["value"], 20);
    let repeated: usize = (0..20).map(|n| fixture.noted(&format!("step {n}")) - 1).sum();
    assert!(repeated <= 1, "only the step that was interrupted ran twice, not {repeated}");
}

async fn workflows_go_on_when_the_host_is_killed(language: Language) {
    survives_kills(Fixture::new(language, &[]).await).await;
}

async fn workflows_go_on_when_a_host_on_postgresql_is_killed(language: Language) {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    survives_kills(Fixture::new(language, &["--store", &database.url()]).await).await;
}

async fn survives_kills(mut fixture: Fixture) {
    // A worker whose write finds no host drops its task, and cannot report it. The expiry of the
    // lease releases the task.
    let (_one, _two) = (fixture.hasty_worker("one"), fixture.hasty_worker("two"));
    let asked: Vec<_> = (0..5)
        .map(|n| {
            let id = format!("long-{n}");
            fixture.language.asks(&fixture.url(), &["rpc", &id, "steps", "12", "150"])
        })
        .collect();
    for kill in 1..=3 {
        let line = format!("step {}", 2 * kill);
        fixture.until("it is in the middle", async || fixture.noted(&line) > 0).await;
        fixture.host.server.kill().unwrap_or_else(|error| panic!("{error}"));
        pause(300).await;
        fixture.host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    }
    for client in asked {
        assert_eq!(answer(client)["value"], 12);
    }
}

async fn functions_of_modules_and_of_workers_call_each_other(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    fixture.host.deploy("bridge", guests::component("bridge")).await;
    let _worker = fixture.worker("one");
    // Calls from outside into the module.
    fixture.expect(&["module", "in-1", "double", "21"], json!(42));
    fixture.expect(&["rpc", "in-2", "call_double", "4"], json!(8));
    if !matches!(fixture.language, Language::Python(_)) {
        fixture.expect(&["rpc", "in-3", "call_add", "4", "5"], json!(9));
        fixture
            .expect(&["rpc", "in-4", "call_refuse", "\"card declined\""], json!("card declined"));
        let late = fixture.ask(&["rpc", "in-5", "call_nap", "60000", "500"]);
        assert_ne!(late["value"], "rested", "its deadline passed: {late}");
        fixture.expect(&["rpc", "round-1", "call_sum", "1", "2"], json!(3));
    }
    from_the_module(&fixture).await;
}

/// Calls from the module to workers.
async fn from_the_module(fixture: &Fixture) {
    let failure = format!("500 {}", fixture.language.failure("no stock"));
    for (id, function, input, output) in [
        ("out-1", "remote_sum", json!([20, 3]), json!(23)),
        ("out-2", "there_and_back", json!(8), json!(16)),
        ("out-3", "remote_failure", json!("no stock"), json!(failure)),
        ("out-4", "remote_deadline", json!(300), json!(408)),
        ("out-5", "remote_cancelled", json!(300), json!("499 cancelled")),
    ] {
        let target = format!("bridge/{function}");
        fixture.host.start_as(id, &target, input).await.unwrap_or_else(|error| panic!("{error}"));
        let ended = fixture.host.ended(id).await;
        assert_eq!(ended.output, Some(output), "{id}: {ended:#?}");
    }
    assert_eq!(fixture.state("out-5/0").await.as_deref(), Some("cancelled"));
    let replay = fixture.host.client().replay("out-2", None).await.expect("it can be replayed");
    assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
}

async fn a_parent_ends_after_children_that_it_does_not_await(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let (_one, _two) = (fixture.worker("one"), fixture.worker("two"));
    fixture.expect(&["rpc", "all-1", "begin_all", "3", "400"], json!("returned"));
    for child in ["remote 0", "local 0", "remote 1", "local 1", "remote 2", "local 2"] {
        assert_eq!(fixture.noted(&format!("child {child}")), 1, "{child}");
    }
    let children = fixture.ended_children("all-1").await;
    assert_eq!(children.len(), 6, "{children:#?}");
    assert!(children.iter().all(|child| child.state == PromiseState::Resolved), "{children:#?}");
}

async fn children_that_nobody_awaits_go_on_when_their_worker_is_killed(language: Language) {
    // As above, only the closed stream reveals that the worker is gone.
    let fixture = Fixture::new(language, &["--grace-s", "0.5"]).await;
    let first = fixture.worker("first");
    let asked = fixture.language.asks(&fixture.url(), &["rpc", "all-2", "begin_all", "2", "2000"]);
    let begun = async || {
        fixture.state("all-2").await.is_some() && fixture.family("all-2").await.1.len() == 4
    };
    fixture.until("all children have begun", begun).await;
    let _second = fixture.worker("second");
    first.kill();
    assert_eq!(answer(asked)["value"], "returned");
    for child in ["remote 0", "local 0", "remote 1", "local 1"] {
        assert!(fixture.noted(&format!("child {child}")) >= 1, "{child}");
    }
    assert_eq!(fixture.ended_children("all-2").await.len(), 4);
}

async fn a_failure_is_told_after_the_siblings_have_ended(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let (_one, _two) = (fixture.worker("one"), fixture.worker("two"));
    let failed = fixture.ask(&["rpc", "fails-1", "one_fails", "600"]);
    assert!(failed["error"].as_str().is_some_and(|error| error.contains("no stock")), "{failed}");
    for child in ["elder", "younger"] {
        assert_eq!(fixture.noted(&format!("child {child}")), 1, "{child}");
    }
    let children = fixture.ended_children("fails-1").await;
    let ended = |state: PromiseState| children.iter().filter(|child| child.state == state).count();
    let counts = (ended(PromiseState::Resolved), ended(PromiseState::Rejected));
    assert_eq!(counts, (2, 1), "nothing cancelled the siblings: {children:#?}");
}

async fn a_detached_call_outlives_its_parent(language: Language) {
    let fixture = Fixture::new(language, &[]).await;
    let _worker = fixture.worker("one");
    fixture.expect(&["rpc", "leave-1", "leave_behind"], json!("left"));
    let (parent, below) = fixture.family("leave-1").await;
    assert_eq!(parent.state, PromiseState::Resolved);
    // Besides the call there may be the promise for which it waits, under a longer id.
    let detached = below.iter().map(|promise| &promise.id).min_by_key(|id| id.len());
    let detached = detached.unwrap_or_else(|| panic!("there is a call: {parent:#?}"));
    let open = fixture.language.first_step(detached);
    fixture.until("it waits for a person", async || fixture.state(&open).await.is_some()).await;
    assert_eq!(fixture.state(detached).await.as_deref(), Some("pending"));
    fixture.ask(&["settle", &open, "\"granted\""]);
    let resolved = async || fixture.state(detached).await.as_deref() == Some("resolved");
    fixture.until("it has ended", resolved).await;
}
