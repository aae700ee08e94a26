//! Crash at every point: the real wasm, the real worker, one fault at each commit in turn, with the
//! same result.

use std::{collections::BTreeSet, sync::Arc};

use segno::guest::{Guests, Wasm};
use segno_core::{
    id::Digest,
    invocation::{CommandKind, RecordBody, Seed},
    promise::Verdict,
};
use serde_json::{Value as Json, json};
use tests::{
    guests::{engine, examples},
    world::{Fault, Faults, World},
};

/// The results that must not depend on crashes.
#[derive(Debug, PartialEq)]
struct Seen {
    outcome: (Verdict, Json),
    accepted: Vec<(String, String, Json)>,
    history: Vec<String>,
}

/// One workflow, and what people do to it meanwhile.
struct Script {
    module: &'static str,
    function: &'static str,
    input: Json,
    /// Promises that the test resolves when they appear.
    resolves: Vec<(&'static str, Json)>,
    /// Whether its history has one order only.
    sequential: bool,
}

impl Script {
    async fn run(&self, guests: Arc<Wasm>, faults: Faults, start: Start) -> (Seen, World) {
        let component = examples()[self.module].clone();
        let digest = Digest::of(&component);
        let mut world = World::new(guests, self.module, component, faults).await;
        let target = format!("wasm://{}/{}", self.module, self.function);
        match start {
            Start::Stored => world.start("it", &target, &self.input).await,
            Start::Ahead => world.begin("it", &target, digest, &self.input).await,
        }
        for (promise, value) in &self.resolves {
            let id = format!("it/p/{promise}");
            world
                .until(&id, async |world| {
                    world.promise(&id).await.is_some()
                        || world.promise("it").await.is_none_or(|it| !it.is_pending())
                })
                .await;
            world.resolve(&id, value).await;
        }
        let outcome = world.outcome("it").await;
        let born = world.promise("it").await.expect("it ended").spec.created_at;
        let expected = Seed::of(&"it".into(), born);
        assert!(
            matches!(world.history("it").await[0], RecordBody::Started { seed, .. } if seed == expected),
            "its seed follows from its birth"
        );
        let mut history: Vec<String> = world.history("it").await.iter().map(line).collect();
        if !self.sequential {
            history.sort();
        }
        (Seen { outcome, accepted: world.ledger.accepted(), history }, world)
    }

    /// Runs without a fault, then with every fault at every commit; however it is started.
    async fn survives(&self) {
        let stored = self.survives_from(Start::Stored).await;
        let ahead = self.survives_from(Start::Ahead).await;
        assert_eq!(ahead, stored, "the way of starting makes no difference");
    }

    async fn survives_from(&self, start: Start) -> Seen {
        let component = examples()[self.module].clone();
        let guests = engine(std::slice::from_ref(&component));
        guests.describe(Digest::of(&component)).await.expect("the example describes itself");
        let (expected, world) = self.run(guests.clone(), Faults::default(), start).await;
        assert_eq!(expected.outcome.0, Verdict::Resolved, "{expected:?}");
        assert!(world.ledger.lines().values().all(|line| line.requests == 1));
        let mut lives = BTreeSet::new();
        for fault in Fault::ALL {
            for commit in 0.. {
                let faults = Faults::at(commit, fault);
                let (seen, world) = self.run(guests.clone(), faults, start).await;
                if !world.faults.injected() {
                    assert!(commit > 4, "a run has more commits than {commit}");
                    break;
                }
                lives.insert(world.lives());
                assert_eq!(seen, expected, "{start:?}, {fault:?} at commit {commit}");
            }
        }
        assert!(lives.len() > 1, "no crash brought a host down: {lives:?}");
        expected
    }
}

/// How a workflow is started.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// The invocation is stored, and then acquired by a host.
    Stored,
    /// A host starts the invocation speculatively, and stores it with its first commit.
    Ahead,
}

/// A record without the parts that a crash may change: the instant at which a sleep ends, and the
/// seed, which differs if an invocation that was never stored is started again.
fn line(body: &RecordBody) -> String {
    match body {
        RecordBody::Command { index, kind: CommandKind::Sleep, .. } => format!("sleep {index}"),
        RecordBody::Started { function, input, .. } => format!("started {function} {input:?}"),
        body => format!("{body:?}"),
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn order_survives_every_fault_at_every_commit() {
    let item = |sku: &str| json!({ "sku": sku, "quantity": 1, "price_cents": 1250 });
    Script {
        module: "order",
        function: "order",
        input: json!({
            "id": "o-1",
            "items": [item("tea"), item("cup"), item("pot")],
            "payments": "http://payments",
        }),
        resolves: vec![("approval", json!(true))],
        sequential: false,
    }
    .survives()
    .await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn fan_out_survives_every_fault_at_every_commit() {
    Script {
        module: "fan-out",
        function: "fan_out",
        input: json!({ "children": 5 }),
        resolves: Vec::new(),
        sequential: false,
    }
    .survives()
    .await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn approval_survives_every_fault_at_every_commit() {
    Script {
        module: "approval",
        function: "approval",
        input: json!({ "title": "Annual report", "approver": "Ada" }),
        resolves: vec![("decision", json!("approve"))],
        sequential: true,
    }
    .survives()
    .await;
}
