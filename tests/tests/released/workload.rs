//! The content of a version's store: one object of every kind that a host stores, in every state.

use std::{collections::BTreeMap, time::Duration};

use segno_api::model::{
    CreatePromise, CreateSchedule, FailureView, Invocation, InvocationState, SendSignal,
    StartInvocation,
};
use segno_client::Client;
use segno_core::time::Millis;
use segno_env::Env;
use serde_json::{Value, json};
use tests::guests;

/// Guest of the benchmarks, built by a toolchain of this version.
const BENCH: &[u8] = include_bytes!("../../../host/bench/guest/bench.wasm");
/// Number of steps of the workflow that is interrupted when the host is killed.
pub(super) const STEPS: u32 = 3_000;
/// Minimum number of completed steps by then: more than one page of a replay.
const BEHIND: u32 = 1_100;
/// Longer than any test that opens the store: 80 years, in milliseconds.
const LONG: i64 = 80 * 365 * 24 * 60 * 60 * 1_000;
/// Time limit of any step.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the whole workload on a host, which can then be killed.
pub(super) async fn run(client: &Client, payments: &str, env: &Env) {
    let workload = Workload { client, env };
    workload.deploy("bench", BENCH.to_vec()).await;
    workload.deploy("order", guests::component("order")).await;
    workload.deploy("tune", guests::component("tune-one")).await;
    workload.deploy("flows", guests::component("flows")).await;
    workload.ended(payments).await;
    workload.waiting().await;
    workload.beside().await;
    workload.in_the_middle().await;
}

struct Workload<'a> {
    client: &'a Client,
    env: &'a Env,
}

impl Workload<'_> {
    async fn deploy(&self, name: &str, component: Vec<u8>) {
        let deployed = self.client.deploy(component, Some(name)).await;
        deployed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    async fn start(&self, id: &str, target: &str, input: Value) {
        self.start_with(StartInvocation {
            id: Some(id.to_owned()),
            target: target.to_owned(),
            input,
            ..StartInvocation::default()
        })
        .await;
    }

    async fn start_with(&self, start: StartInvocation) {
        let started = self.client.start(&start).await;
        started.unwrap_or_else(|error| panic!("{:?}: {error}", start.id));
    }

    async fn ends(&self, id: &str, state: InvocationState) {
        let outcome = self.client.wait(id, STEP_TIMEOUT).await;
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{id}: {error}")).state, state, "{id}");
    }

    async fn until(&self, id: &str, seen: impl Fn(&Invocation) -> bool) {
        for _ in 0..STEP_TIMEOUT.as_millis() / 5 {
            let invocation = self.client.invocation(id).await.expect("it was started");
            if seen(&invocation) {
                return;
            }
            self.env.runtime.sleep(Millis(5)).await;
        }
        panic!("`{id}` never came to where it should be");
    }

    async fn waits(&self, id: &str) {
        self.until(id, |seen| seen.state == InvocationState::Suspended).await;
    }

    /// Ended workflows: with a value, with a failure, cancelled, and timed out.
    async fn ended(&self, payments: &str) {
        let item = json!({ "sku": "tea", "quantity": 1, "price_cents": 1250 });
        let order = json!({ "id": "o-1", "items": [item], "payments": payments });
        self.start_with(StartInvocation {
            id: Some("order-1".to_owned()),
            target: "order/order".to_owned(),
            input: order,
            labels: BTreeMap::from([("customer".to_owned(), "Ada".to_owned())]),
            ..StartInvocation::default()
        })
        .await;
        self.until("order-1", |seen| !seen.waits.is_empty()).await;
        let approval = "order-1/p/approval";
        self.until("order-1", |seen| seen.waits.iter().any(|wait| wait.id == approval)).await;
        self.client.resolve(approval, json!(true)).await.expect("it is waited for");
        self.ends("order-1", InvocationState::Resolved).await;

        self.start("fan-1", "bench/fan", json!({ "children": 5 })).await;
        self.ends("fan-1", InvocationState::Resolved).await;
        self.start("announce-1", "flows/announce", json!(3)).await;
        self.ends("announce-1", InvocationState::Resolved).await;

        self.start("ask-2", "flows/ask", Value::Null).await;
        self.waits("ask-2").await;
        let no = FailureView { code: 409, message: "no".to_owned(), details: None };
        self.client.reject("ask-2/p/answer", no).await.expect("it is waited for");
        self.ends("ask-2", InvocationState::Rejected).await;

        self.start("ask-3", "flows/ask", Value::Null).await;
        self.waits("ask-3").await;
        self.client.kill("ask-3").await.expect("it runs");
        self.ends("ask-3", InvocationState::Cancelled).await;

        self.start_with(StartInvocation {
            id: Some("ask-4".to_owned()),
            target: "flows/ask".to_owned(),
            timeout_ms: Some(300),
            ..StartInvocation::default()
        })
        .await;
        self.ends("ask-4", InvocationState::TimedOut).await;
    }

    /// Workflows that wait: for a promise, for a signal, for an instant in the near or far future,
    /// and for a person.
    async fn waiting(&self) {
        self.start("ask-1", "flows/ask", Value::Null).await;
        self.start("tune-1", "tune/play", json!("waltz")).await;
        self.until("tune-1", |seen| seen.waits.iter().any(|wait| wait.id == "tune-1/p/go")).await;
        self.start("collect-1", "flows/collect", json!(3)).await;
        for number in [1, 2] {
            let signal = SendSignal {
                name: "note".to_owned(),
                payload: json!(number),
                key: Some(format!("key-{number}")),
                start: None,
            };
            self.client.signal("collect-1", &signal).await.expect("it takes signals");
        }
        let soon = self.env.clock.now().0 + 2_000;
        self.start("nap-1", "bench/nap", json!({ "until_ms": soon })).await;
        let late = self.env.clock.now().0 + LONG;
        self.start("nap-2", "bench/nap", json!({ "until_ms": late })).await;
        self.start("hold-1", "flows/ask", Value::Null).await;
        for id in ["ask-1", "tune-1", "collect-1", "nap-1", "nap-2", "hold-1"] {
            self.waits(id).await;
        }
        self.client.resolve("hold-1/p/answer", json!(5)).await.expect("it is waited for");
        self.ends("hold-1", InvocationState::Resolved).await;
        self.start_with(StartInvocation {
            id: Some("late-1".to_owned()),
            target: "bench/noop".to_owned(),
            start_at_ms: Some(late),
            ..StartInvocation::default()
        })
        .await;
        self.client.halt("late-1").await.expect("it has not ended");
    }

    /// Objects other than workflows: promises, a task for external workers with a listener, a
    /// schedule, a resource.
    async fn beside(&self) {
        let promise = |id: &str, tags: &[(&str, &str)]| CreatePromise {
            id: id.to_owned(),
            timeout_ms: None,
            tags: tags.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            param: Some(json!({ "question": "žluťoučký?" })),
        };
        let tags = [("target", "poll://any@workers"), ("kind", "outside")];
        for promise in [promise("outside-1", &tags), promise("plain-1", &[("kind", "plain")])] {
            self.client.create_promise(&promise).await.expect("it can be made");
        }
        let listener = json!({
            "kind": "promise.register_listener",
            "head": { "corrId": "1", "version": "2026-04-01" },
            "data": { "awaited": "plain-1", "address": "poll://uni@workers/one" },
        });
        let answer = reqwest::Client::new().post(self.client.server()).json(&listener).send().await;
        let status = answer.expect("the host answers").status();
        assert!(status.is_success(), "{status}");

        let schedule = CreateSchedule {
            id: "yearly".to_owned(),
            cron: "0 3 29 2 *".to_owned(),
            target: "bench/noop".to_owned(),
            timeout_ms: Some(60_000),
            labels: BTreeMap::from([("by".to_owned(), "schedule".to_owned())]),
            ..CreateSchedule::default()
        };
        self.client.create_schedule(&schedule).await.expect("it can be made");
        let lease = self.client.lease("press", "Ada", 3_600_000).await.expect("it is free");
        let token = lease.lease.expect("it was taken").token;
        self.client.put("press", json!({ "sheets": 7 }), token).await.expect("it is Ada's");
    }

    /// A workflow that is interrupted between its steps.
    async fn in_the_middle(&self) {
        let steps = json!({ "steps": STEPS, "result_bytes": 10 });
        self.start("steps-1", "bench/steps", steps).await;
        self.until("steps-1", |seen| seen.journal_len > BEHIND).await;
    }
}
