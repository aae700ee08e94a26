//! Workflows that continue from a snapshot of their instance, with the same results as without, in
//! Rust and in JavaScript. A snapshot that is damaged, unverified or of another journal is not
//! used.

mod differential;
mod engine;
mod flows;
mod handles;
mod killed;
mod lossy;

use std::{fs, path::PathBuf, sync::Arc};

use segno_bundle::{BundleItem, BundleReader};
use segno_core::{promise::Verdict, time::Millis};
use segno_engine::worker;
use segno_guest::Guests as _;
use serde_json::{Value as Json, json};
use tests::world::World;

use self::{
    engine::{Counted, Engine},
    lossy::{Lossy, Lost},
};

const JAVASCRIPT: &[u8] = include_bytes!("../../bundles/0.1.0/javascript.segno-bundle");

/// Runs until `done` accepts the counts of this incarnation.
async fn counts(world: &mut World, what: &str, done: impl Fn(Counted) -> bool) -> Counted {
    let mut looks = 0;
    let seen = async |world: &World| {
        looks += 1;
        let counted = Counted::of(world);
        assert!(looks < 5_000, "{what}, within some minutes: {counted:?}");
        done(counted)
    };
    world.until(what, seen).await;
    Counted::of(world)
}

async fn waits_for(world: &mut World, promise: &str) {
    world.until(promise, async |world| world.promise(promise).await.is_some()).await;
}

/// Outcome of `it`, its journal without instants, and its log.
async fn ended(world: &mut World) -> (Verdict, Json, Vec<String>, Vec<String>) {
    let (verdict, value) = world.outcome("it").await;
    let report = worker::replay(&world.host(), &"it".into(), None).await.expect("it is replayed");
    assert!(report.is_identical() && report.finished, "{report:?}");
    (verdict, value, world.story("it").await, world.logs("it").await)
}

const TURNS: u32 = 5;

/// Runs `turns`, killing the host while it waits for each promise. Returns the counts of each
/// incarnation.
async fn turns(engine: &Engine) -> (Vec<Counted>, (Verdict, Json, Vec<String>, Vec<String>)) {
    let mut world = engine.world().await;
    world.start("it", "wasm://m/turns", &json!({ "steps": 300, "turns": TURNS })).await;
    let mut lives = Vec::new();
    for turn in 0..TURNS {
        waits_for(&mut world, &format!("it/p/turn-{turn}")).await;
        if turn == 0 && engine.wasm.snapshots().is_some() {
            counts(&mut world, "it is made", |counted| counted.made == 1).await;
        }
        lives.push(Counted::of(&world));
        world.boot().await;
        world.resolve(&format!("it/p/turn-{turn}"), &json!(null)).await;
    }
    let end = ended(&mut world).await;
    lives.push(Counted::of(&world));
    (lives, end)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn only_what_came_after_a_snapshot_is_replayed() {
    let engine = Engine::bench(600);
    let (lives, end) = turns(&engine).await;
    // `started`, 300 steps, and the promise: 602 records. Each turn then adds two.
    let made = Counted { made: 1, ..Counted::default() };
    let restored = |tail| Counted { restored: 1, replayed: tail, ..Counted::default() };
    let expected = [made, restored(0), restored(2), restored(4), restored(6), restored(8)];
    assert_eq!(lives, expected);
    assert_eq!(engine.files(), [] as [PathBuf; 0], "what has ended has none");

    let (lives, plain) = turns(&Engine::bench(0)).await;
    let replayed = |records| Counted { replayed: records, ..Counted::default() };
    let expected = [0, 602, 604, 606, 608, 610].map(replayed);
    assert_eq!(lives, expected);
    assert_eq!(end, plain);
}

/// A world in which `turns` waits with a snapshot, and no host is up.
async fn waiting(engine: &Engine) -> World {
    let mut world = engine.world().await;
    world.start("it", "wasm://m/turns", &json!({ "steps": 300, "turns": 1 })).await;
    counts(&mut world, "it is made", |counted| counted.made == 1).await;
    world.crash();
    world
}

/// Lets the execution continue, and checks that it replays everything.
async fn goes_on_without(engine: &Engine, world: &mut World, discarded: u64) {
    let [file] = &engine.files()[..] else { panic!("there is one snapshot") };
    let before = fs::read(file).expect("it is there");
    world.boot().await;
    world.resolve("it/p/turn-0", &json!(null)).await;
    assert_eq!(ended(world).await.1, json!(1));
    let expected = Counted { discarded, replayed: 602, ..Counted::default() };
    assert_eq!(Counted::of(world), expected);
    assert!(fs::read(file).map_or(true, |now| now != before), "it is not used again");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_damaged_snapshot_is_passed_over() {
    let engine = Engine::bench(600);
    let mut world = waiting(&engine).await;
    let [file] = &engine.files()[..] else { panic!("there is one snapshot") };
    let mut bytes = fs::read(file).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).expect("it can be damaged");
    // Same result as without a snapshot.
    goes_on_without(&engine, &mut world, 0).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_snapshot_of_another_journal_is_passed_over() {
    let engine = Engine::bench(600);
    drop(waiting(&engine).await);
    let [file] = &engine.files()[..] else { panic!("there is one snapshot") };
    let old = fs::read(file).expect("it is there");
    // Another execution with the same id, with as many steps, which began later.
    let mut world = engine.world().await;
    world.pass(Millis(1)).await;
    world.start("it", "wasm://m/turns", &json!({ "steps": 300, "turns": 1 })).await;
    counts(&mut world, "it is made", |counted| counted.made == 1).await;
    world.crash();
    assert_ne!(fs::read(file).expect("it is there"), old);
    fs::write(file, old).expect("it can be exchanged");
    goes_on_without(&engine, &mut world, 1).await;
}

/// A component composed of several, namely QuickJS and a part of its system interface.
fn javascript() -> Arc<[u8]> {
    let mut bundle = BundleReader::begin(JAVASCRIPT).expect("it is a bundle");
    loop {
        match bundle.next_item().expect("it is whole") {
            Some(BundleItem::Component(bytes)) => return bytes.into(),
            Some(_) => {}
            None => panic!("it has its module"),
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn javascript_goes_on_where_it_was() {
    let offer = json!({ "goods": ["apple", "cheese", "gold"], "pause_ms": 60_000 });
    let mut ends = Vec::new();
    for records in [1, 0] {
        let engine = Engine::new(javascript(), records);
        let mut world = engine.world().await;
        world.start("it", "wasm://m/offer", &offer).await;
        // By then its prices are known, and it pauses.
        world.pass(Millis(30_000)).await;
        let made = Counted::of(&world);
        world.boot().await;
        let (verdict, mut value, ..) = ended(&mut world).await;
        let now = Counted::of(&world);
        assert_eq!(
            (made.made > 0, now.restored > 0),
            (records > 0, records > 0),
            "{made:?} {now:?}"
        );
        assert_eq!((made.refused, made.unequal, now.discarded), (0, 0, 0));
        value.as_object_mut().expect("it is an offer").remove("made_at");
        ends.push((verdict, value));
    }
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0].1["total"], json!(830));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn handles_of_resources_are_as_they_would_have_been() {
    // The handles that it keeps increase the numbers of later ones.
    for (keeps, number) in [(false, 2), (true, 6)] {
        let mut ends = Vec::new();
        for records in [1, 0] {
            let engine = Engine::new(handles::component(keeps), records);
            let mut world = engine.world().await;
            world.start("it", "wasm://m/main", &json!(null)).await;
            let mut total = Counted::default();
            for _ in 0..handles::NAPS {
                world.pass(Millis(5_000)).await;
                let counted = Counted::of(&world);
                total.restored += counted.restored;
                total.refused += counted.refused;
                assert_eq!((counted.unequal, counted.discarded), (0, 0));
                world.boot().await;
            }
            let (verdict, value, story, _) = ended(&mut world).await;
            if records > 0 {
                assert_eq!((total.restored > 0, total.refused > 0), (!keeps, keeps), "{total:?}");
            }
            assert_eq!(value, json!(number), "keeps: {keeps}, every {records} records");
            ends.push((verdict, value, story));
        }
        assert_eq!(ends[0], ends[1]);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_does_not_go_on_as_the_journal_says_is_not_kept() {
    for lost in [Lost::Written, Lost::Read, Lost::Access] {
        let engine = Engine::bench(200);
        let guests = Arc::new(Lossy::new(&engine, lost));
        let mut world = engine.world_of(guests).await;
        world.start("it", "wasm://m/turns", &json!({ "steps": 300, "turns": 2 })).await;
        let expected = match lost {
            Lost::Access => Counted { refused: 1, ..Counted::default() },
            Lost::Written | Lost::Read | Lost::Later => {
                Counted { unequal: 1, ..Counted::default() }
            }
        };
        counts(&mut world, "it is refused", |counted| counted == expected).await;
        assert_eq!(engine.files(), [] as [PathBuf; 0]);
        // No further snapshot of this module is tried.
        world.start("other", "wasm://m/turns", &json!({ "steps": 300, "turns": 1 })).await;
        waits_for(&mut world, "other/p/turn-0").await;
        world.pass(Millis(5_000)).await;
        assert_eq!(Counted::of(&world), expected);
        for turn in ["it/p/turn-0", "it/p/turn-1"] {
            waits_for(&mut world, turn).await;
            world.resolve(turn, &json!(null)).await;
        }
        assert_eq!(ended(&mut world).await.1, json!(2));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_workflow_that_fails_after_a_snapshot_is_replayed_as_a_whole() {
    let engine = Engine::bench(600);
    let mut world = engine.world_of(Arc::new(Lossy::new(&engine, Lost::Later))).await;
    world.start("it", "wasm://m/turns", &json!({ "steps": 300, "turns": 1 })).await;
    counts(&mut world, "it is made", |counted| counted.made == 1).await;
    world.boot().await;
    world.resolve("it/p/turn-0", &json!(null)).await;
    assert_eq!(ended(&mut world).await.1, json!(1));
    let expected = Counted { restored: 1, discarded: 1, replayed: 602, ..Counted::default() };
    assert_eq!(Counted::of(&world), expected);
}
