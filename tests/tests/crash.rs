//! A crash at every point: the real wasm and the real worker, with one fault at each commit in
//! turn. The result must stay the same.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{
    id::Digest,
    invocation::{CommandKind, RecordBody, Seed},
    promise::Verdict,
};
use segno_guest::{Guests, Wasm};
use segno_sim::{CommitFault, PlannedFaults};
use serde_json::{Value as Json, json};
use tests::{
    guests::{self, engine},
    world::World,
};

/// Results that must not depend on crashes.
#[derive(Debug, PartialEq)]
struct Seen {
    outcome: (Verdict, Json),
    accepted: Vec<(String, String, Json)>,
    history: Vec<String>,
}

/// One workflow, and the settlements that people make meanwhile.
struct Script {
    module: &'static str,
    function: &'static str,
    input: Json,
    /// Promises of the invocation that the test settles when they appear.
    settles: Vec<(&'static str, Verdict, Json)>,
    /// True if its history has only one possible order.
    sequential: bool,
    /// Verdict at its end.
    verdict: Verdict,
}

impl Script {
    fn component(&self) -> Arc<[u8]> {
        guests::component(self.module).into()
    }

    async fn run(&self, guests: Arc<Wasm>, faults: PlannedFaults, start: Start) -> (Seen, World) {
        let component = self.component();
        let digest = Digest::of(&component);
        let target = format!("wasm://{}/{}", self.module, self.function);
        let mut world = match start {
            Start::Stored => {
                let world = World::one_by_one(guests, self.module, component, faults).await;
                world.start("it", &target, &self.input).await;
                world
            }
            Start::Ahead => {
                let mut world = World::new(guests, self.module, component, faults).await;
                world.begin("it", &target, digest, &self.input).await;
                world
            }
        };
        for (promise, verdict, value) in &self.settles {
            let id = format!("it/{promise}");
            world
                .until(&id, async |world| {
                    world.promise(&id).await.is_some()
                        || world.promise("it").await.is_none_or(|it| !it.is_pending())
                })
                .await;
            world.settle(&id, *verdict, value).await;
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

    /// Runs without a fault, then with every fault at every commit, for both ways of starting.
    async fn survives(&self) -> Seen {
        let stored = self.survives_from(Start::Stored).await;
        let ahead = self.survives_from(Start::Ahead).await;
        assert_eq!(ahead, stored, "the way of starting makes no difference");
        stored
    }

    async fn survives_from(&self, start: Start) -> Seen {
        let component = self.component();
        let guests = engine(std::slice::from_ref(&component));
        guests.describe(Digest::of(&component)).await.expect("the example describes itself");
        let (expected, world) = self.run(guests.clone(), PlannedFaults::default(), start).await;
        assert_eq!(expected.outcome.0, self.verdict, "{expected:?}");
        let repeats = self.input.to_string().contains("Silently");
        assert!(repeats || world.ledger.lines().values().all(|line| line.requests == 1));
        let mut lives = BTreeSet::new();
        for fault in CommitFault::ALL {
            for commit in 0.. {
                let faults = PlannedFaults::at(commit, fault);
                let (seen, world) = self.run(guests.clone(), faults, start).await;
                if !world.faults.injected() {
                    assert!(commit > 2, "a run has more commits than {commit}");
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

/// Way of starting a workflow.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// The invocation is stored, and then claimed by a host, on which nothing gathers.
    Stored,
    /// A host starts the invocation speculatively, and stores it with its first commit. Results and
    /// outcomes gather.
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
        settles: vec![("p/approval", Verdict::Resolved, json!(true))],
        sequential: false,
        verdict: Verdict::Resolved,
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
        settles: Vec::new(),
        sequential: false,
        verdict: Verdict::Resolved,
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
        settles: vec![("p/decision", Verdict::Resolved, json!("approve"))],
        sequential: true,
        verdict: Verdict::Resolved,
    }
    .survives()
    .await;
}

/// Runs a journey of five steps, of which `others` have another outcome. Returns the actions and
/// compensations in the order of the steps.
async fn journey_survives(
    others: &[(usize, Json)],
    settles: Vec<(&'static str, Verdict, Json)>,
    aborts: bool,
) -> (Vec<String>, Seen) {
    let names = ["flight", "hotel", "car", "guide", "boat"];
    let mut steps: Vec<Json> =
        names.iter().map(|name| json!({ "name": name, "goes": "Well" })).collect();
    steps[1]["goes"] = "ByRequest".into();
    for (place, other) in others {
        let other = other.as_object().expect("an object").clone();
        steps[*place].as_object_mut().expect("an object").extend(other);
    }
    let goes_well =
        !aborts && steps.iter().all(|step| step["goes"] != "Badly" && step["goes"] != "Silently");
    let script = Script {
        module: "journey",
        function: "journey",
        input: json!({ "steps": steps, "aborts": aborts }),
        settles,
        sequential: true,
        verdict: if goes_well { Verdict::Resolved } else { Verdict::Rejected },
    };
    let seen = script.survives().await;
    let told = |what: &str| {
        let of = |(_, path, name): &(String, String, Json)| {
            (path == what).then(|| format!("{what} {}", name.as_str().unwrap_or_default()))
        };
        let mut told: Vec<String> = seen.accepted.iter().filter_map(of).collect();
        told.sort();
        told
    };
    ([told("/take"), told("/leave")].concat(), seen)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_saga_survives_every_fault_at_every_commit_of_its_way_forward() {
    let (told, _) = journey_survives(&[], Vec::new(), false).await;
    assert_eq!(told, ["/take boat", "/take car", "/take flight", "/take guide", "/take hotel"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_saga_survives_every_fault_at_every_commit_of_its_way_back() {
    let (told, seen) = journey_survives(&[], Vec::new(), true).await;
    let all = ["boat", "car", "flight", "guide", "hotel"];
    let expected = ["/take", "/leave"].map(|what| all.map(|name| format!("{what} {name}")));
    assert_eq!(told, expected.concat());
    let message = seen.outcome.1["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("`take`, `take`, `take`, `POST http://payments/take`, `take` undone"));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_step_that_cannot_be_undone_stops_the_way_back_whatever_crashes() {
    let stays = (2, json!({ "stays": true }));
    let fails = (4, json!({ "goes": "Badly" }));
    let (told, seen) = journey_survives(&[stays, fails], Vec::new(), false).await;
    let taken = ["/take car", "/take flight", "/take guide", "/take hotel"];
    assert_eq!(told, [&taken[..], &["/leave guide"]].concat());
    let sagas = &seen.outcome.1["details"]["sagas"][0];
    assert_eq!((&sagas["failed"][0]["seq"], &sagas["left"][1]["seq"]), (&json!(2), &json!(0)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_step_of_which_nobody_knows_waits_for_a_person_whatever_crashes() {
    let silent = || (3, json!({ "goes": "Silently" }));
    let taken = ["/take car", "/take flight", "/take guide", "/take hotel"];
    let acted = vec![("u/journey/3", Verdict::Resolved, json!(null))];
    let (told, _) = journey_survives(&[silent()], acted, false).await;
    assert_eq!(
        told,
        [&taken[..], &["/leave car", "/leave flight", "/leave guide", "/leave hotel"]].concat()
    );
    let did_not = vec![("u/journey/3", Verdict::Rejected, json!({ "code": 404, "message": "no" }))];
    let (told, _) = journey_survives(&[silent()], did_not, false).await;
    assert_eq!(told, [&taken[..], &["/leave car", "/leave flight", "/leave hotel"]].concat());
}
