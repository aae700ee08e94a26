//! Each flow of the table runs three times: without snapshots, with a snapshot after each record
//! and a host that dies once it is made, and from a snapshot after each of its records in another
//! engine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Arc,
};

use segno_api::ComponentInspector;
use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    promise::{TaskStatus, Verdict},
    reply::{Conflict, Refusal, Reply},
    time::Millis,
    value::Text,
};
use segno_engine::worker::{self, Question};
use segno_env::Clock as _;
use segno_guest::{
    Compiler, Guests as _, Limits, Outcome, Payload, PolicySource, Wasm, WasmConfig,
};
use segno_store::{InvocationFilter, Store as _};
use serde_json::Value as Json;
use tests::{
    guests,
    replaying::SnapshotTally,
    world::{Plan, World},
};

use super::{
    engine::Counted,
    flows::{Echo, REFUSING, WITHOUT_WAITS, flows, others},
    flows::{End, Flow, Happening},
};

/// Three engines over all guests, which share compiled code.
struct Engines {
    components: BTreeMap<&'static str, Arc<[u8]>>,
    /// Makes no snapshots.
    plain: Arc<Wasm>,
    /// Makes a snapshot after each record.
    saving: Arc<Wasm>,
    /// Continues from the snapshots that the second engine made.
    new: Arc<Wasm>,
    folder: tempfile::TempDir,
}

impl Engines {
    fn new(components: BTreeMap<&'static str, Arc<[u8]>>) -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let source: BTreeMap<_, _> = components
            .values()
            .map(|component| (Digest::of(component), component.clone()))
            .collect();
        let source = Arc::new(source);
        let engine = |snapshot_records| {
            let limits = Limits {
                instances: 64,
                memory_bytes: 64 << 20,
                snapshot_records,
                ..Limits::default()
            };
            let config = WasmConfig {
                limits,
                policy: PolicySource::default(),
                cache_dir: Some(folder.path().to_owned()),
                compiler: Compiler::Thread,
                fair: false,
                counts: false,
                ahead: None,
                source: source.clone(),
            };
            Arc::new(Wasm::new(config).expect("the engine can be set up"))
        };
        let (plain, saving, new) = (engine(0), engine(1), engine(1));
        Self { components, plain, saving, new, folder }
    }

    /// Removes all snapshots, because executions of other flows have the same ids.
    fn forget(&self) {
        let configurations = fs::read_dir(self.folder.path().join("snapshots"));
        for entry in configurations.into_iter().flatten().flatten() {
            for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                fs::remove_file(file.path()).expect("it is a file");
            }
        }
    }

    /// A world with the flow's guest as `m`. Its host runs the guest on `wasm`.
    async fn world(&self, flow: &Flow, wasm: &Arc<Wasm>) -> World {
        let component = self.components[flow.guest].clone();
        let described = ComponentInspector::inspect(&**wasm, component.clone()).await;
        let described = described.unwrap_or_else(|error| panic!("{}: {error:?}", flow.guest));
        // Compiled beforehand, because virtual time does not wait for it.
        let _ = wasm.accessible(Digest::of(&component), None).await;
        let outbound = Some(Arc::new(Echo) as _);
        let plan = Plan { facts: described.facts(), outbound, ..Plan::default() };
        World::planned(plan, wasm.clone(), "m", component).await
    }
}

/// Outcome of every invocation, by id. `None` if it has not ended.
type Ends = BTreeMap<String, Option<(Verdict, Json)>>;

/// A flow in progress.
struct Run {
    world: World,
    /// True if the host dies whenever it has made a snapshot.
    dies: bool,
    restored: u64,
    updates: u32,
}

impl Run {
    /// Runs until `done` returns true.
    async fn until(&mut self, what: &str, done: impl AsyncFn(&World) -> bool) {
        let dies = self.dies;
        loop {
            let has_made = |world: &World| dies && Counted::of(world).made > 0;
            self.world.until(what, async |world| has_made(world) || done(world).await).await;
            if !has_made(&self.world) {
                return;
            }
            self.note();
            self.world.boot().await;
        }
    }

    /// Adds the counts of this incarnation.
    fn note(&mut self) {
        let counted = Counted::of(&self.world);
        assert_eq!((counted.unequal, counted.discarded), (0, 0), "{counted:?}");
        self.restored += counted.restored;
    }

    async fn settled(&mut self, id: &str) {
        self.until(id, async |world| {
            world.promise(id).await.is_some_and(|promise| !promise.is_pending())
        })
        .await;
    }

    async fn happens(&mut self, happening: &Happening) {
        match happening {
            Happening::Before(function, input) => {
                self.world.start("before", &format!("wasm://m/{function}"), input).await;
                self.settled("before").await;
            }
            Happening::Resolve(id, value) => {
                self.until(id, async |world| world.promise(id).await.is_some()).await;
                self.world.resolve(id, value).await;
            }
            Happening::Signal(name, payload) => {
                let reply = self.world.signal("it", name, payload).await;
                assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
            }
            Happening::Update(name, input) => self.update(name, input).await,
            Happening::Cancel => {
                let invocation = "it".into();
                self.world.client(Command::Cancel { invocation }).await;
            }
            Happening::Pass(length) => {
                let end = self.world.clock.now() + Millis(*length);
                self.until("time passes", async |world| world.clock.now() >= end).await;
            }
        }
    }

    async fn update(&mut self, name: &str, input: &Json) {
        let invocation = PromiseId::from("it");
        self.until("it begins", async |world| !world.journal("it").await.is_empty()).await;
        let input = input.to_string();
        loop {
            let payload = Payload::Json(input.clone());
            let question = Question { validates: true, name: name.to_owned(), input: payload };
            let asked = worker::ask(&self.world.host(), &invocation, question, None).await;
            let asked = asked.expect("an answer");
            assert!(matches!(asked.outcome, Outcome::Success(_)), "{:?}", asked.outcome);
            let command = Command::Update {
                invocation: invocation.clone(),
                name: Text::from(name),
                input: Text::from(input.clone()),
                key: None,
                records: asked.records,
                signals: asked.signals,
            };
            match self.world.client(command).await {
                // The execution continued meanwhile, so the request is repeated.
                Reply::Refused(Refusal::Conflict(Conflict::JournalGrew { .. })) => {
                    let end = self.world.clock.now() + Millis(50);
                    let has_passed = async |world: &World| world.clock.now() >= end;
                    self.until("a moment passes", has_passed).await;
                }
                Reply::Refused(refusal) => panic!("{refusal}"),
                _ => break,
            }
        }
        self.settled(&format!("it/a/{}", self.updates)).await;
        self.updates += 1;
    }
}

/// All invocations, with their status and outcome.
async fn standing(world: &World) -> Vec<(String, TaskStatus, Option<(Verdict, Json)>)> {
    let filter = InvocationFilter { limit: 1_000, ..InvocationFilter::default() };
    let rows = world.memory.read().list(&filter).await.expect("memory answers").items;
    rows.into_iter()
        .map(|row| {
            let end = row.promise.settlement().map(|settlement| {
                let value = settlement.value.as_ref().filter(|value| !value.data.is_empty());
                let value = value.map_or(Json::Null, |value| {
                    serde_json::from_slice(&value.data).expect("values are JSON")
                });
                (settlement.verdict, value)
            });
            (row.promise.id().to_string(), row.task.status(), end)
        })
        .collect()
}

/// Runs a flow to its end.
async fn run(engines: &Engines, wasm: &Arc<Wasm>, flow: &Flow, dies: bool) -> (Run, Ends) {
    let world = engines.world(flow, wasm).await;
    let mut run = Run { world, dies, restored: 0, updates: 0 };
    let (before, after): (Vec<_>, Vec<_>) =
        flow.happens.iter().partition(|happening| matches!(happening, Happening::Before(..)));
    for happening in before {
        run.happens(happening).await;
    }
    run.world.start("it", &format!("wasm://m/{}", flow.function), &flow.input).await;
    for happening in after {
        run.happens(happening).await;
    }
    let what = format!("{}/{}", flow.guest, flow.function);
    run.until(&what, async |world| {
        let standing = standing(world).await;
        let it = standing.iter().find(|(id, ..)| id == "it").map(|(_, status, _)| *status);
        match flow.end {
            End::Settles => standing.iter().all(|(_, _, end)| end.is_some()),
            End::Halts => matches!(it, Some(TaskStatus::Halted | TaskStatus::Fulfilled)),
            End::Waits => it == Some(TaskStatus::Suspended),
        }
    })
    .await;
    run.note();
    let mut ends = Ends::new();
    for (id, _, mut end) in standing(&run.world).await {
        // The creation time of the value changes with every pause.
        let value = end.as_mut().and_then(|(_, value)| value.as_object_mut());
        value.and_then(|value| value.remove("made_at"));
        ends.insert(id, end);
    }
    (run, ends)
}

/// Runs a flow in all three ways. Returns the number of snapshots from which it continued, and the
/// reasons why others were refused.
async fn compared(engines: &Engines, flow: &Flow) -> (u64, SnapshotTally) {
    let what = format!("{}/{}", flow.guest, flow.function);
    engines.forget();
    let (_, plain) = run(engines, &engines.plain, flow, false).await;
    let (killed, ends) = run(engines, &engines.saving, flow, true).await;
    assert_eq!(ends, plain, "{what}");
    let mut tally = SnapshotTally::default();
    for id in ends.keys() {
        let records = killed.world.journal(id).await.len();
        if records == 0 {
            continue;
        }
        if ends[id].is_some() {
            let id = PromiseId::from(id.as_str());
            let report = worker::replay(&killed.world.host(), &id, None).await;
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(report.is_identical() && report.finished, "{what}: {report:?}");
        }
        tally.add(&*engines.saving, &*engines.new, &killed.world, id).await;
    }
    (killed.restored, tally)
}

/// Two tests share the work for two processors. Each takes every second guest.
async fn every_second_guest(first: usize) {
    let packages = guests::all();
    let table = flows();
    let tried: BTreeSet<&str> = table.iter().map(|flow| flow.guest).collect();
    let mut components: BTreeMap<&'static str, Arc<[u8]>> = others().into_iter().collect();
    for (name, component) in packages {
        let name = *tried
            .get(name.as_str())
            .unwrap_or_else(|| panic!("`{name}` has no flow in the table"));
        components.insert(name, component.clone());
    }
    let engines = Engines::new(components);
    let mut seen: BTreeMap<&str, (u64, SnapshotTally)> = BTreeMap::new();
    // In the short form, only the first flow of each guest runs. A JavaScript engine takes a minute
    // to compile, and other tests of this suite cover its snapshots.
    let every = std::env::var_os("SEGNO_EVERY").is_some();
    let mine: BTreeSet<&str> = tried.iter().copied().skip(first).step_by(2).collect();
    let mut chosen = BTreeSet::from(["javascript 0.1.0"]);
    let flows = table.iter().filter(|flow| mine.contains(flow.guest));
    for flow in flows.filter(|flow| every || chosen.insert(flow.guest)) {
        eprintln!("{}/{}", flow.guest, flow.function);
        let (restored, tally) = compared(&engines, flow).await;
        let sum = seen.entry(flow.guest).or_default();
        sum.0 += restored;
        sum.1.resumed += tally.resumed;
        sum.1.refused.extend(tally.refused);
    }
    let mut wrong = Vec::new();
    for (guest, (restored, SnapshotTally { resumed, refused })) in seen {
        eprintln!("{guest}: {restored} times by a host, {resumed} by hand");
        let words = REFUSING.iter().find(|(refuses, _)| *refuses == guest).map(|(_, words)| *words);
        let is_refused = |words: &str| refused.iter().any(|reason| reason.contains(words));
        if !words.map_or(refused.is_empty(), is_refused) {
            wrong.push(format!("{guest} refuses {refused:?}"));
        }
        let waits = !WITHOUT_WAITS.contains(&guest) && words.is_none();
        if waits && resumed == 0 {
            wrong.push(format!("{guest} went on from none"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn every_guest_goes_on_from_a_snapshot_after_each_record_as_its_journal_says() {
    every_second_guest(0).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn every_other_guest_goes_on_from_a_snapshot_after_each_record_as_its_journal_says() {
    every_second_guest(1).await;
}
