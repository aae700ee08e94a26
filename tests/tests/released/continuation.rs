//! The expected continuation of a released store on the present host.

use std::time::Duration;

use segno_api::model::{
    EventQuery, InvocationState, PromiseState, ReplayVerdict, SendSignal, StartInvocation,
};
use segno_client::Client;
use segno_demo::server::DemoServer;
use serde_json::{Value, json};

use super::{
    folder::{Folder, segno},
    workload::STEPS,
};

/// Time limit of any step.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Continues all executions, checks their outcomes, and ends the host.
pub(super) async fn check(released: &Folder, mut server: DemoServer) {
    eprintln!("the store of version {}", released.version());
    let continuation = Continuation { client: server.client() };
    continuation.ended().await;
    continuation.goes_on().await;
    continuation.beside().await;
    continuation.replays().await;
    server.restart().await.unwrap_or_else(|error| panic!("a second start: {error}"));
    let arguments = &server.options().arguments;
    let store = arguments.last().cloned();
    let store = store.unwrap_or_else(|| server.options().data.display().to_string());
    server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    segno(&["doctor", "--store", &store]);
}

struct Continuation<'a> {
    client: &'a Client,
}

impl Continuation<'_> {
    async fn state(&self, id: &str) -> InvocationState {
        let found = self.client.invocation(id).await;
        found.unwrap_or_else(|error| panic!("{id}: {error}")).state
    }

    async fn ends(&self, id: &str, output: Value) {
        let ended = self.client.wait(id, STEP_TIMEOUT).await;
        let ended = ended.unwrap_or_else(|error| panic!("{id}: {error}"));
        // The client reads a `null` as `None`.
        let found = ended.output.unwrap_or_default();
        assert_eq!((ended.state, found), (InvocationState::Resolved, output), "{id}");
    }

    async fn ended(&self) {
        use InvocationState::{Cancelled, Rejected, Resolved, TimedOut};
        let known = [
            ("order-1", Resolved),
            ("fan-1", Resolved),
            ("announce-1", Resolved),
            ("hold-1", Resolved),
        ];
        let known = known.into_iter().chain([
            ("ask-2", Rejected),
            ("ask-3", Cancelled),
            ("ask-4", TimedOut),
            ("late-1", InvocationState::Halted),
        ]);
        for (id, state) in known {
            assert_eq!(self.state(id).await, state, "{id}");
        }
        let order = self.client.invocation("order-1").await.expect("it is there");
        assert_eq!(order.labels["customer"], "Ada");
        assert_eq!(
            order.output.as_ref().map(|receipt| &receipt["amount_cents"]),
            Some(&json!(1250))
        );
        let logs = self.client.logs("order-1", 0, 100).await.expect("it wrote some");
        assert!(logs.lines.iter().any(|line| line.message.contains("shipped")), "{logs:?}");
        let failure = self.client.invocation("ask-2").await.expect("it is there").failure;
        assert_eq!(
            failure.map(|failure| (failure.code, failure.message)),
            Some((409, "no".to_owned()))
        );
        // An id still identifies the same invocation.
        let again = StartInvocation {
            id: Some("fan-1".to_owned()),
            target: "bench/fan".to_owned(),
            input: json!({ "children": 5 }),
            ..StartInvocation::default()
        };
        assert!(!self.client.start(&again).await.expect("it is there").created);
    }

    async fn goes_on(&self) {
        self.client.resolve("ask-1/p/answer", json!(42)).await.expect("it is waited for");
        self.ends("ask-1", json!(42)).await;
        self.client.resolve("tune-1/p/go", json!(true)).await.expect("it is waited for");
        self.ends("tune-1", json!(["waltz", "one", "do", "mi"])).await;
        for (number, key) in [(2, "key-2"), (3, "key-3")] {
            let (name, payload) = ("note".to_owned(), json!(number));
            let signal = SendSignal { name, payload, key: Some(key.to_owned()), start: None };
            self.client.signal("collect-1", &signal).await.expect("it takes signals");
        }
        // The second signal was sent before.
        self.ends("collect-1", json!([1, 2, 3])).await;
        self.ends("steps-1", json!(STEPS)).await;
        let nap = self.client.wait("nap-1", STEP_TIMEOUT).await.expect("it is there");
        assert_eq!(nap.state, InvocationState::Resolved);
        assert_eq!(self.state("nap-2").await, InvocationState::Suspended);
        self.client.kill("nap-2").await.expect("it waits");
        self.client.resume("late-1", None).await.expect("it was halted");
        self.ends("late-1", Value::Null).await;
    }

    async fn beside(&self) {
        let events = self.client.events(&EventQuery::default()).await.expect("some are owed");
        let data = events.events.iter().map(|event| event.data.clone());
        let announced =
            [0, 1, 2].map(|number| Some(json!({ "flow": "announce-1", "number": number })));
        assert_eq!(data.collect::<Vec<_>>(), announced);
        let ids = events.events.into_iter().map(|event| event.id).collect();
        assert_eq!(self.client.acknowledge(ids).await.expect("they are owed").acknowledged, 3);

        let plain = self.client.promise("plain-1").await.expect("it was made");
        assert_eq!(plain.state, PromiseState::Pending);
        assert_eq!(plain.param, Some(json!({ "question": "žluťoučký?" })));
        let outside = self.client.task("outside-1").await.expect("external workers have it");
        assert_eq!(outside.version, 0);
        let schedule = self.client.schedule("yearly").await.expect("it was made");
        assert_eq!((schedule.cron.as_str(), schedule.timeout_ms), ("0 3 29 2 *", Some(60_000)));
        let press = self.client.resource("press").await.expect("it was written");
        assert_eq!(press.value, Some(json!({ "sheets": 7 })));
        let (token, old) =
            (press.token.expect("it was written"), press.lease.expect("it was taken"));
        assert_eq!((old.holder.as_str(), old.token), ("Ada", token));
        if let Ok(taken) = self.client.lease("press", "Bob", 1_000).await {
            assert!(taken.lease.expect("it was taken").token > token);
        }
    }

    async fn replays(&self) {
        for id in ["order-1", "fan-1", "announce-1", "hold-1", "tune-1", "collect-1", "steps-1"] {
            let replay = self.client.replay(id, None).await;
            let replay = replay.unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(replay.verdict, ReplayVerdict::Identical, "{id}: {replay:#?}");
            assert_eq!(replay.matched, replay.journal_len, "{id}");
        }
    }
}
