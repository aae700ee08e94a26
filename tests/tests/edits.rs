//! Code changes while orders are in flight. For each order and each change, the prediction of a
//! check must equal the outcome of moving the order to the new code.

use std::{path::Path, sync::Arc};

use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    promise::{TaskStatus, Verdict as Outcome},
    reply::Reply,
};
use segno_engine::worker::replay::{CandidateVerdict, check};
use segno_env::Clock as _;
use segno_guest::{Guests as _, Wasm};
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::{InvocationFilter, InvocationRow, NewModule, Store};
use serde_json::{Value as Json, json};
use tests::{
    guests::{self, engine},
    order_edits::{Breaks, EDITS, Edit, components},
    parallel,
    world::{World, story},
};

/// Outcome of moving an order, or its prediction by a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The order continues to its end on the new code, which replays the whole journal.
    GoesOn,
    /// The order stops where the new code diverges from the journal.
    Diverges { at: u32 },
    /// The order stops because the new code panics there.
    Fails,
}

/// Code of the example, and of a change.
struct Code {
    guests: Arc<Wasm>,
    old: Arc<[u8]>,
    new: Arc<[u8]>,
}

/// Decisions about an order: approved or refused.
const DECISIONS: [bool; 2] = [true, false];

fn order() -> Json {
    let item =
        |sku: &str, quantity| json!({ "sku": sku, "quantity": quantity, "price_cents": 1250 });
    json!({ "id": "o-1", "items": [item("tea", 1), item("cup", 2)], "payments": "http://payments" })
}

impl Code {
    /// A host that has died after its commit `commit`, with an order in flight. The flag is false
    /// if the order had already ended.
    async fn in_flight(&self, commit: u64, approved: bool) -> (World, bool) {
        let faults = PlannedFaults::at(commit, CommitFault::CrashAfter);
        let (guests, old) = (self.guests.clone(), self.old.clone());
        let mut world = World::one_by_one(guests, "order", old, faults).await;
        let new = NewModule::plain(self.candidate(), self.new.clone(), world.clock.now());
        world.memory.modules().put(new).await.expect("memory takes everything");
        world.start("it", "wasm://order/order", &order()).await;
        let died = world.until_it_dies(async |world| decided(world, approved).await).await;
        (world, died)
    }

    fn candidate(&self) -> Digest {
        Digest::of(&self.new)
    }

    /// Prediction of a check for the order. The flag is true if a journal was compared.
    async fn foreseen(&self, world: &World) -> (Fate, bool) {
        let rows = world.memory.read().list(&InvocationFilter::default()).await;
        let rows = rows.expect("memory answers").items;
        let is_it = |row: &InvocationRow| row.promise.id().as_str() == "it";
        let row = rows.into_iter().find(is_it).expect("it is there");
        let host = world.host();
        let checked = check(&host, vec![row], self.candidate(), 2).await.expect("memory answers");
        match &checked[0].verdict {
            CandidateVerdict::Same(_) => (Fate::GoesOn, true),
            CandidateVerdict::NotStarted => (Fate::GoesOn, false),
            CandidateVerdict::Diverges(report) => {
                let at = report.divergence.as_ref().expect("it diverges").seq();
                (Fate::Diverges { at }, true)
            }
            CandidateVerdict::Fails { .. } => (Fate::Fails, true),
            other => panic!("{other:?}"),
        }
    }

    /// Outcome of moving the order, regardless of the check.
    async fn moved(&self, mut world: World, approved: bool) -> Fate {
        let records = u32::try_from(world.journal("it").await.len()).expect("they are few");
        let id = || PromiseId::from("it");
        let halted = world.client(Command::TaskHalt { id: id() }).await;
        assert!(matches!(halted, Reply::Done), "{halted:?}");
        let module = self.candidate();
        world.client(Command::Deploy { alias: "order".into(), module }).await;
        let moved = world.client(Command::TaskMigrate { id: id(), module, records }).await;
        assert!(matches!(moved, Reply::Done), "{moved:?}");
        world
            .until("the end", async |world| {
                decided(world, approved).await
                    || world.task("it").await.status() == TaskStatus::Halted
            })
            .await;
        let task = world.task("it").await;
        if task.status() == TaskStatus::Fulfilled {
            self.is_repeated(&world).await;
            return Fate::GoesOn;
        }
        let note = task.note.expect("it says why it was halted");
        if *note.kind != *"divergence" {
            assert_eq!(&*note.kind, "trap", "{note:?}");
            return Fate::Fails;
        }
        let details: Json = serde_json::from_slice(&note.details).expect("details are JSON");
        let at = details["divergence"]["seq"].as_u64().expect("it says where");
        Fate::Diverges { at: u32::try_from(at).expect("journals are short") }
    }

    /// Replays an order that was moved and has ended, on the code on which it ended.
    async fn is_repeated(&self, world: &World) {
        let host = world.host();
        let replay = segno_engine::worker::replay(&host, &PromiseId::from("it"), None).await;
        let report = replay.expect("it can be replayed");
        assert_eq!(report.module, self.candidate());
        assert!(report.is_identical(), "{report:?}");
    }
}

/// Decides about the order once it waits for a decision. Returns true if it has ended.
async fn decided(world: &World, approved: bool) -> bool {
    for name in ["approval", "consent"] {
        let id = format!("it/p/{name}");
        if world.promise(&id).await.is_some_and(|promise| promise.is_pending()) {
            world.settle(&id, Outcome::Resolved, &json!(approved)).await;
        }
    }
    world.promise("it").await.is_some_and(|promise| !promise.is_pending())
}

#[test]
fn a_check_says_of_every_edit_at_every_place_what_happens_when_it_is_moved() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = scratch.parent().expect("it is in the target folder").join("guest");
    let edited = components(scratch, &target);
    let old: Arc<[u8]> = guests::component("order").into();
    parallel::for_each(EDITS.iter().zip(edited), |(edit, new)| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(every_place(edit, old.clone(), new));
    });
}

async fn every_place(edit: &Edit, old: Arc<[u8]>, new: Arc<[u8]>) {
    let guests = engine(&[old.clone(), new.clone()]);
    let code = Code { guests, old, new };
    for component in [&code.old, &code.new] {
        // Compiled beforehand, because a host that dies during the compilation would abort it.
        let described = code.guests.describe(Digest::of(component)).await;
        described.expect("the crate describes itself");
    }
    assert_ne!(code.candidate(), Digest::of(&code.old), "`{}` changes nothing", edit.name);
    let mut places = 0;
    // The compensation of a refused order matters to one edit only. `SEGNO_EVERY=1` tries all edits
    // with both decisions.
    let both = std::env::var_os("SEGNO_EVERY").is_some() || edit.name == "forget-a-compensation";
    for approved in DECISIONS.into_iter().filter(|approved| *approved || both) {
        places += places_of(edit, &code, approved).await;
    }
    eprintln!("{}: {places} places", edit.name);
    assert!(places > 10, "an order has more places than {places}");
}

/// Checks and moves an order after every commit of its run. Returns the number of commits.
async fn places_of(edit: &Edit, code: &Code, approved: bool) -> u64 {
    for commit in 0.. {
        let (world, in_flight) = code.in_flight(commit, approved).await;
        let story = story(&world.journal("it").await);
        let place = || format!("`{}` after commit {commit}: {story:#?}", edit.name);
        let (foreseen, compared) = code.foreseen(&world).await;
        assert_eq!(compared, !story.is_empty(), "{}", place());
        let breaks = edit.breaks.breaks(&story);
        assert_eq!(foreseen != Fate::GoesOn, breaks, "{foreseen:?}: {}", place());
        let has_ended = world.promise("it").await.is_some_and(|it| !it.is_pending());
        if !in_flight || has_ended {
            return commit;
        }
        let became = code.moved(world, approved).await;
        let comes_there = matches!(edit.breaks, Breaks::Panics(_)) && foreseen == Fate::GoesOn;
        let expected = if comes_there && approved { Fate::Fails } else { foreseen };
        assert_eq!(became, expected, "{}", place());
    }
    unreachable!("an order ends")
}
