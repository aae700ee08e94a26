//! A store of several databases: it answers and keeps what a store of one does, also when shards
//! move and hosts end in the middle of a commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_core::{
    command::Command,
    config::Config,
    id::{Holder, ObjectId, PromiseId},
    limit::{AdmissionBounds, AdmissionRule, LimitName},
    promise::OutboxMessageKind,
    reply::Reply,
    shard::{ShardMap, group_of},
    tags,
    time::Millis,
};
use segno_env::{Clock as _, Runtime as _, SystemRuntime};
use sqlx::{Connection as _, Executor as _, PgConnection};
use throwaway_postgres::Database;

use super::{
    HandClock, NoHints, archive,
    conformance::compare_rows,
    create, deploy,
    dice::Dice,
    env, memory,
    postgres::{config, database},
    script,
};
use crate::{
    PromiseFilter, Store,
    archive::{ArchiveError, ArchiveReader, ArchiveSource as _},
    postgres::{PostgresOpenError, ShardedImport, ShardedStore},
};

async fn sharded(
    databases: &[Database<'_>],
    clock: &Arc<HandClock>,
    engine: &Config,
) -> Result<Arc<ShardedStore>, PostgresOpenError> {
    let configs = databases.iter().map(|database| config(&database.url())).collect();
    ShardedStore::open(configs, engine.clone(), env(clock), Arc::new(NoHints)).await
}

fn databases(count: usize) -> Option<Vec<Database<'static>>> {
    (0..count).map(|_| database()).collect()
}

/// True for commands whose effect depends on the division of the rows: the first version of new
/// tasks rises in the database from which a tree was removed, and in no other.
fn is_divided(command: &Command) -> bool {
    matches!(command, Command::Prune { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_databases_answer_like_one() {
    answer_like_one(2, &[1, 2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_databases_answer_like_one() {
    answer_like_one(3, &[3, 4]).await;
}

async fn answer_like_one(count: usize, seeds: &[u64]) {
    for seed in seeds {
        let Some(databases) = databases(count) else { return };
        let (clock, engine) = (HandClock::new(), Config::default());
        let model = memory(&clock, &engine);
        let store = sharded(&databases, &clock, &engine).await.expect("it opens");
        deploy(&*model).await;
        deploy(&*store).await;
        walk(&*model, &*store, &clock, *seed, 150).await;
        assert_eq!(store.oldest_in_doubt().await, None, "nothing is left prepared");
        let decided = databases[0].sql("SELECT count(*) FROM decisions WHERE committed = 1");
        assert_ne!(decided.trim(), "0", "what crossed was decided");
        store.close().await;
    }
}

/// A host that was started before a database was added goes on with all shards that it knows.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_the_newest_database_says_so_and_goes_on() {
    let Some(databases) = databases(3) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let old = sharded(&databases[..2], &clock, &engine).await.expect("it opens");
    assert_eq!(old.add_database(&databases[2].url()).await.expect("it is added"), 3);
    let again = old.add_database(&databases[2].url()).await.expect_err("it is there");
    assert!(again.to_string().contains("is database 3 of a store already"), "{again}");
    let new = sharded(&databases, &clock, &engine).await.expect("it opens");
    let holder = Holder::worker("w");
    let beat = Command::WorkerHeartbeat { holder };
    assert_eq!(old.execute(vec![beat]).await.expect("a reply"), [Reply::Heartbeat(vec![])]);
    let (moved, other) = ("order-1", "order-2");
    let [shard, stays] = [moved, other].map(|id| new.shards().shard(id));
    assert_ne!(shard, stays, "they are in different shards");
    new.move_shard(shard as u16, 2).await.expect("it moves");
    SystemRuntime.sleep(Millis(1_500)).await;
    let lost = old.execute(vec![create(moved, &[])]).await.expect_err("it has no such database");
    assert!(lost.to_string().contains("start it again with all of them"), "{lost}");
    old.execute(vec![create(other, &[])]).await.expect("the others go on");
    new.execute(vec![create(moved, &[])]).await.expect("the new host knows it");
    old.close().await;
    new.close().await;
}

/// A host that does not know yet that a shard has moved writes where the shard is.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_an_old_map_writes_to_the_right_database() {
    let Some(databases) = databases(2) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let one = sharded(&databases, &clock, &engine).await.expect("it opens");
    let two = sharded(&databases, &clock, &engine).await.expect("it opens");
    let map = one.shards();
    let ids = (0..).map(|n| format!("order-{n}"));
    let ids = ids.filter(|id| map.promise(&PromiseId::from(id.as_str())) == 0);
    // A host reads the map every second, sometimes just after the move.
    let mut old_maps = 0;
    for id in ids.take(8) {
        let (shard, id) = (map.shard(&id), PromiseId::from(&*id));
        one.move_shard(shard as u16, 1).await.expect("it moves");
        old_maps += u32::from(two.shards().epoch < one.shards().epoch);
        let made = two.execute(vec![create(id.as_str(), &[])]).await.expect("it writes");
        assert!(matches!(made[..], [Reply::Promise { .. }]), "{made:?}");
        let found = one.read().promise(&id).await.expect("a read");
        assert!(found.is_some(), "{id} was written to the former database");
        if old_maps == 2 {
            break;
        }
    }
    assert!(old_maps > 0, "it has always read the map again");
    one.close().await;
    two.close().await;
}

/// A limit that one host sets applies to the next start at another one, which has an old map.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_an_old_map_obeys_a_new_limit() {
    let Some(databases) = databases(2) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let one = sharded(&databases, &clock, &engine).await.expect("it opens");
    let two = sharded(&databases, &clock, &engine).await.expect("it opens");
    let model = memory(&clock, &engine);
    deploy(&*one).await;
    deploy(&*model).await;
    let map = one.shards();
    let functions = (0..).map(|n| format!("f{n}"));
    let mut functions = functions.filter(|f| map.limit(&LimitName::of("shop", f)) == 1);
    let limited = functions.next().expect("one of them");
    let ids = (0..).map(|n| format!("run-{n}"));
    let mut ids = ids.filter(|id| map.promise(&PromiseId::from(id.as_str())) == 0);
    let mut start = |function: &str| {
        create(
            &ids.next().expect("one of them"),
            &[(tags::TARGET, &format!("wasm://shop/{function}"))],
        )
    };
    let name = LimitName::of("shop", &limited);
    let rule = AdmissionRule {
        per_key: AdmissionBounds { concurrency: Some(1), ..AdmissionBounds::default() },
        ..AdmissionRule::default()
    };
    let set = Command::LimitSet { name: name.clone(), rule: Some(rule) };
    for host in [&*one as &dyn Store, &*model] {
        assert_eq!(host.execute(vec![set.clone()]).await.expect("a reply"), [Reply::Done]);
    }
    assert!(two.shards().epoch < one.shards().epoch || two.shards().knows_limit(&name));
    for _ in 0..3 {
        let command = start(&limited);
        for host in [&*two as &dyn Store, &*model] {
            host.execute(vec![command.clone()]).await.expect("a reply");
        }
    }
    compare_rows(&*model, &*two, "behind a new limit").await;
    let limit = one.read().limit(&name).await.expect("a read").expect("it has a row");
    assert_eq!(limit.running + limit.waiting, 3, "all of them are counted");
    assert!(one.shards().knows_limit(&name) && two.shards().knows_limit(&name));
    // A store whose map does not say it yet: the names are those of the rows.
    let opened = ShardMap { limits: None, epoch: map.epoch + 9, ..map };
    for database in &databases {
        let text = serde_json::to_string(&opened).expect("it is JSON");
        database.sql(&format!("UPDATE shards SET epoch = {}, map = '{text}'", opened.epoch));
    }
    let again = sharded(&databases, &clock, &engine).await.expect("it opens");
    assert_eq!(again.shards().limits, Some([name].into()));
    for store in [one, two, again] {
        store.close().await;
    }
}

/// A transaction that began before the shard was halted, and is prepared while it is waited for, is
/// moved with the shard.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_waits_for_what_is_prepared_in_the_meantime() {
    let Some(databases) = databases(2) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let store = sharded(&databases, &clock, &engine).await.expect("it opens");
    deploy(&*store).await;
    let map = store.shards();
    let functions = (0..).map(|n| LimitName::of("shop", &format!("f{n}")));
    let mut here = functions.into_iter().filter(|name| map.limit(name) == 0);
    let name = here.next().expect("one of them");
    let per_key = AdmissionBounds { concurrency: Some(1), ..AdmissionBounds::default() };
    let rule = Some(AdmissionRule { per_key, ..AdmissionRule::default() });
    let set = Command::LimitSet { name: name.clone(), rule };
    assert_eq!(store.execute(vec![set]).await.expect("a reply"), [Reply::Done]);

    let mut older = PgConnection::connect(&databases[0].url()).await.expect("a connection");
    older.execute("BEGIN; UPDATE limits SET joined = joined + 5").await.expect("it is open");
    let moving = store.move_shard(map.shard(name.as_str()) as u16, 1);
    let preparing = async {
        while !store.shards().moving.is_some_and(|moves| moves.is_halted) {
            SystemRuntime.sleep(Millis(20)).await;
        }
        for statement in ["PREPARE TRANSACTION 'two phases'", "COMMIT PREPARED 'two phases'"] {
            SystemRuntime.sleep(Millis(300)).await;
            older.execute(statement).await.expect("it goes on");
        }
    };
    let (moved, ()) = tokio::join!(moving, preparing);
    moved.expect("it moves");
    let limit = store.read().limit(&name).await.expect("a read").expect("it has moved");
    assert_eq!((store.shards().limit(&name), limit.joined), (1, 5));
    store.close().await;
}

/// Databases in any order are those of the store, with what it had.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_opened_again_and_grows_and_its_shards_move() {
    let Some(mut databases) = databases(3) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    deploy(&*model).await;
    let one = super::postgres::store(&databases[0], &clock, &engine).await;
    deploy(&*one).await;
    walk(&*model, &*one, &clock, 5, 60).await;
    one.close().await;

    let store = sharded(&databases, &clock, &engine).await.expect("it grows");
    assert!(store.shards().places.iter().all(|place| *place == 0), "nothing has moved yet");
    walk(&*model, &*store, &clock, 6, 40).await;
    // Those shards in which the scripts have the most promises.
    let mut shards: Vec<_> = promises_of_shards(&*model).await.into_iter().collect();
    shards.sort_unstable_by_key(|(shard, count)| (std::cmp::Reverse(*count), *shard));
    let shards: Vec<usize> = shards.into_iter().take(6).map(|(shard, _)| shard).collect();
    for (place, shard) in shards.iter().enumerate() {
        let to = 1 + place % 2;
        let count = promises_of_shards(&*model).await.remove(shard).unwrap_or_default();
        let moved = store.move_shard(*shard as u16, to).await.expect("it moves");
        assert_eq!(moved.promises, count);
        assert_eq!(usize::from(store.shards().places[*shard]), to);
        compare_rows(&*model, &*store, &format!("shard {shard} moved to {to}")).await;
        walk(&*model, &*store, &clock, 30 + place as u64, 25).await;
    }
    // To a database that has rows already, and back.
    for to in [2, 0] {
        store.move_shard(shards[0] as u16, to).await.expect("it moves");
        compare_rows(&*model, &*store, "it moved on").await;
    }
    let again = store.move_shard(shards[0] as u16, 0).await.expect_err("it is there");
    assert!(again.to_string().contains("in database 1 already"), "{again}");
    let map = store.shards();
    store.close().await;

    databases.rotate_left(1);
    let store = sharded(&databases, &clock, &engine).await.expect("it opens");
    assert_eq!(store.shards(), map);
    walk(&*model, &*store, &clock, 50, 40).await;
    store.close().await;
    let missing = sharded(&databases[..2], &clock, &engine).await.err().expect("one is missing");
    assert!(missing.to_string().contains("3 databases, and number 1 is missing"), "{missing}");
    let alone =
        super::postgres::open(&databases[0].url(), &clock, &engine).await.err().expect("the same");
    assert!(alone.to_string().contains("number 1 and 3 is missing"), "{alone}");
}

/// Shards that follow each other have one announcement, and a list that is read meanwhile has each
/// promise once.
#[tokio::test(flavor = "multi_thread")]
async fn reads_find_everything_while_shards_move() {
    let Some(databases) = databases(3) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let store = sharded(&databases, &clock, &engine).await.expect("it opens");
    let other = sharded(&databases, &clock, &engine).await.expect("it opens");
    let ids: Vec<PromiseId> = (0..40).map(|n| PromiseId::from(&*format!("order-{n}"))).collect();
    for id in &ids {
        store.execute(vec![create(id.as_str(), &[])]).await.expect("a promise");
    }
    // Each shard goes to the next database and on to the one behind it.
    let map = store.shards();
    let shards: Vec<u16> = (0..).zip(&map.places).map(|(shard, _)| shard).take(24).collect();
    let moves = |step: usize| {
        let to = |shard: u16| (usize::from(map.places[usize::from(shard)]) + step) % 3;
        shards.iter().map(|shard| (*shard, to(*shard))).collect::<Vec<_>>()
    };
    let (mut arrived, mut reads) = (Vec::new(), 0);
    let moving = async {
        for step in 1..3 {
            let moves = moves(step);
            let moved = store.move_shards(&moves, |shard, to, _| arrived.push((shard, to)));
            moved.await.expect("they move");
        }
    };
    let filter = PromiseFilter { limit: 100, ..PromiseFilter::default() };
    let reading = async {
        loop {
            let rows = other.read().promises(&ids).await.expect("rows");
            assert!(rows.iter().all(Option::is_some), "one was not found: {rows:?}");
            let id = &ids[reads % ids.len()];
            assert!(other.read().promise(id).await.expect("a read").is_some(), "{id}");
            let list = other.read().find(&filter).await.expect("a list");
            let listed: BTreeSet<_> = list.items.iter().map(|row| row.promise.id()).collect();
            assert_eq!((listed.len(), list.items.len()), (ids.len(), ids.len()), "each once");
            reads += 1;
        }
    };
    tokio::select! {
        biased;
        () = moving => {}
        () = reading => {}
    }
    assert_eq!(arrived, [moves(1), moves(2)].concat());
    assert!(reads > 20, "{reads} reads");
    store.close().await;
    other.close().await;
}

/// The archive of several databases is that of one store: every kind of store imports it.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_several_databases_is_exported_and_imported() {
    let Some(mut databases) = databases(4) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = sharded(&databases[..3], &clock, &engine).await.expect("it opens");
    deploy(&*model).await;
    deploy(&*store).await;
    walk(&*model, &*store, &clock, 8, 250).await;
    let crossings = databases[..3].iter().map(|it| it.sql("SELECT count(*) FROM crossings"));
    assert!(crossings.into_iter().any(|count| count.trim() != "0"), "some callbacks cross");
    let file = archive::packed_from(store.scan()).await;
    assert!(archive::packed_from(store.scan()).await == file, "the same rows make the same file");

    let dir = tempfile::tempdir().expect("a directory");
    archive::filled(dir.path(), &file).await.expect("it moves in");
    let sqlite = super::sqlite(dir.path(), &clock, &engine).await;
    compare_rows(&*model, &*sqlite, "in a data directory").await;
    let rows = sqlite.read().dump().await.expect("a dump");
    for id in rows.promises.keys() {
        let (left, right) =
            (store.read().logs(id, 0, 100).await, sqlite.read().logs(id, 0, 100).await);
        assert_eq!(left.expect("logs"), right.expect("logs"), "{id}");
    }
    sqlite.close().await;
    let rows = |file: &[u8]| ArchiveReader::begin(file).expect("an archive").head().tables.clone();
    assert_eq!(rows(&archive::written(dir.path()).await), rows(&file), "as many rows");

    let full = import(&databases[2..], &clock, &file).await.expect_err("it is not empty");
    assert!(full.to_string().contains("is not empty"), "{full}");
    store.close().await;
    let last = databases.pop().expect("the fourth");
    let Some(mut fresh) = self::databases(1) else { return };
    fresh.push(last);
    import(&fresh, &clock, &file).await.expect("it moves in");
    let store = sharded(&fresh, &clock, &engine).await.expect("it opens");
    assert_eq!(store.shards().balanced(), [], "the shards are dealt");
    compare_rows(&*model, &*store, "in two databases").await;
    walk(&*model, &*store, &clock, 9, 60).await;
    store.close().await;
}

async fn import(
    databases: &[Database<'_>],
    clock: &Arc<HandClock>,
    file: &[u8],
) -> Result<(), ArchiveError> {
    let configs = databases.iter().map(|database| config(&database.url())).collect();
    let mut from = ArchiveReader::begin(file)?;
    let import = ShardedImport::from_source(configs, &env(clock), &mut from).await?;
    import.keep(env(clock), Arc::new(NoHints)).await
}

/// Numbers of promises by shard.
async fn promises_of_shards(store: &dyn Store) -> BTreeMap<usize, u64> {
    let (rows, map) = (store.read().dump().await.expect("a dump"), ShardMap::in_first(1));
    let mut counts = BTreeMap::new();
    for id in rows.promises.keys() {
        *counts.entry(map.shard(group_of(id.as_str()))).or_default() += 1;
    }
    counts
}

/// The tables of a database know the shards as the core does.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_knows_the_shards_as_the_core_does() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    super::postgres::store(&database, &clock, &engine).await.close().await;
    let map = ShardMap::in_first(1);
    let asked = |function: &str, id: &str| {
        let id = crate::postgres::escape(id).replace('\'', "''");
        let row = database.sql(&format!("SELECT {function}('{id}')"));
        row.trim().parse::<usize>().expect("a number")
    };
    let ids = [
        "a",
        "a/1/p/x@y",
        "web/Signup@ada/p/mail",
        "web/Signup@é%2F/run",
        "",
        "/",
        "/@/x",
        "ü b/3",
        "it's",
    ];
    for id in ids {
        assert_eq!(asked("shard_of", id), map.shard(group_of(id)), "{id}");
        assert_eq!(asked("shard_of_name", id), map.shard(id), "{id}");
    }
    for object in ["web/Signup@ada", "web/Signup@a/b%c", "web/Signup@é\n\u{7f}", "m/O@"] {
        let streams = ObjectId::from(object).streams();
        let shard = map.shard(group_of(streams.as_str()));
        assert_eq!(asked("shard_of_object", object), shard, "{object}");
    }
}

/// A transaction that a dead host left in the middle is finished as it was decided.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_host_left_in_the_middle_is_finished() {
    let Some(databases) = databases(2) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let store = sharded(&databases, &clock, &engine).await.expect("it opens");
    let number = databases[1].sql("SELECT store FROM shards");
    let number: i64 = number.trim().parse().expect("a number");
    let prepared = |nonce: u64, node: &str| {
        let name = format!("segno:{:016x}:0:{nonce:016x}.1", number.cast_unsigned());
        databases[1].sql(&format!(
            "BEGIN; INSERT INTO hosts (node, incarnation) VALUES ('{node}', 1); PREPARE TRANSACTION '{name}'"
        ));
    };
    let decided = format!("segno:{:016x}:0:{:016x}", number.cast_unsigned(), 7);
    databases[0]
        .sql(&format!("INSERT INTO decisions (gid, committed, at) VALUES ('{decided}', 1, 0)"));
    prepared(7, "decided");
    prepared(8, "undecided");
    assert!(store.oldest_in_doubt().await.is_some());
    let mut looks = 0;
    while store.oldest_in_doubt().await.is_some() {
        looks += 1;
        assert!(looks < 200, "it is still in doubt");
        SystemRuntime.sleep(Millis(50)).await;
    }
    assert_eq!(databases[1].sql("SELECT node FROM hosts").trim(), "decided");
    // The host that began the other one cannot decide it any more.
    let refused = databases[0].sql("SELECT count(*) FROM decisions WHERE committed = 0");
    assert_eq!(refused.trim(), "1");
    store.close().await;
}

/// The first execution of an object is committed in the database of the object's queue, and still
/// prepared in its own. The next one waits for it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_still_prepared_is_not_missed() {
    let Some(databases) = databases(2) else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let model = memory(&clock, &engine);
    let store = sharded(&databases, &clock, &engine).await.expect("it opens");
    deploy(&*model).await;
    deploy(&*store).await;
    let map = store.shards();
    let queue = map.object(&ObjectId::from("shop/Cart@ada"));
    let ids = (0..).map(|n| format!("order-{n}"));
    let mut elsewhere = ids.filter(|id| map.promise(&PromiseId::from(id.as_str())) != queue);
    let [first, second] = [(); 2].map(|()| elsewhere.next().expect("one of them"));
    let run = |id: &str| create(id, &[("target", "wasm://shop/Cart@ada/add")]);
    for host in [&*model as &dyn Store, &*store] {
        host.execute(vec![run(&first)]).await.expect("it is the first");
    }
    compare_rows(&*model, &*store, "the first").await;

    let own = &databases[1 - queue];
    let store_number = own.sql("SELECT store FROM shards");
    let store_number: i64 = store_number.trim().parse().expect("a number");
    let name = format!("segno:{:016x}:{queue}:{:016x}", store_number.cast_unsigned(), 9);
    databases[queue]
        .sql(&format!("INSERT INTO decisions (gid, committed, at) VALUES ('{name}', 1, 0)"));
    let tables = ["promises", "tasks", "outbox"];
    let keep = tables.map(|table| format!("CREATE TABLE kept_{table} AS SELECT * FROM {table};"));
    let drop = ["outbox", "tasks", "promises"].map(|table| format!("DELETE FROM {table};"));
    own.sql(&[keep.concat(), drop.concat()].concat());
    let put = tables.map(|table| format!("INSERT INTO {table} SELECT * FROM kept_{table};"));
    let prepared = 1 - queue;
    own.sql(&format!("BEGIN; {} PREPARE TRANSACTION '{name}.{prepared}'", put.concat()));

    for host in [&*model as &dyn Store, &*store] {
        host.execute(vec![run(&second)]).await.expect("it joins the queue");
    }
    compare_rows(&*model, &*store, "the second waits for the first").await;
    store.close().await;
}

/// Runs a script on both stores.
async fn walk(model: &dyn Store, store: &dyn Store, clock: &Arc<HandClock>, seed: u64, steps: u32) {
    let mut dice = Dice::new(seed);
    let mut seen = model.read().dump().await.expect("a dump");
    for step in 0..steps {
        if dice.roll(3) == 0 {
            clock.advance(Millis(dice.roll(6_000) as i64));
        }
        let commands = match dice.roll(6) {
            0 => model.work_queue().due(clock.now(), 3).await.expect("what is due").commands,
            1 => {
                let (queue, kind) = (model.work_queue(), dice.of(&OutboxMessageKind::ALL));
                queue.outbox_due(kind, clock.now(), 2).await.expect("what is owed").commands
            }
            count => (0..count)
                .map(|_| script::command(&mut dice, &seen, clock.now()))
                .filter(|command| !is_divided(command))
                .collect(),
        };
        let context = format!("step {step} of seed {seed}: {commands:?}");
        let expected = model.execute(commands.clone()).await.expect("replies");
        let replies: Vec<Reply> = store.execute(commands).await.expect(&context);
        assert_eq!(replies, expected, "{context}");
        seen = compare_rows(model, store, &context).await;
    }
}
