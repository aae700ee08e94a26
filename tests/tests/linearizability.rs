//! Many concurrent clients: some order of the operations must explain every answer of a store, by
//! the core's rules.

use std::{path::Path, sync::Arc};

use segno_core::{command::Command, config::Config, time::Timestamp};
use segno_env::{Env, HandClock, SystemRuntime};
use segno_sim::HintSwitch;
use segno_store::{
    MemoryStore, NewModule, Store,
    postgres::{PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore},
};
use tests::{
    linear::{Asked, Course, Lie, LyingStore, MODULE, Operation, Served, Verdict, check, run},
    seed::number,
};
use throwaway_postgres::Cluster;

fn env(clock: &Arc<HandClock>) -> Env {
    Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) }
}

/// A SQLite store that does not wait for the disk, because no test here cuts the power.
async fn sqlite(directory: &Path, clock: &Arc<HandClock>) -> Arc<dyn Store> {
    let config = SqliteConfig { dir: directory.to_owned(), relaxed: true };
    let (env, hints) = (env(clock), Arc::new(HintSwitch::default()));
    SqliteStore::open(config, Config::default(), env, hints).await.expect("it opens")
}

async fn deploy(store: &dyn Store) {
    let component: Arc<[u8]> = Arc::from(&b"component"[..]);
    store
        .modules()
        .put(NewModule::plain(MODULE, component, Timestamp(0)))
        .await
        .expect("a component");
    let deploy = Command::Deploy { alias: "shop".into(), module: MODULE };
    store.execute(vec![deploy]).await.expect("an alias");
}

/// Number of courses, 6 by default. `SEGNO_COURSES` sets another number.
fn courses() -> u64 {
    number("SEGNO_COURSES").unwrap_or(6)
}

fn course(seed: u64) -> Course {
    Course { seed, clients: 6, groups: 4, phases: 3, questions: 14, lost: 80 }
}

/// Verdict for every group of a course.
fn verdicts(groups: &[Vec<Operation>]) -> Vec<Verdict> {
    groups.iter().map(|group| check(group, &Config::default(), MODULE)).collect()
}

fn explained(seed: u64, groups: &[Vec<Operation>]) {
    for verdict in verdicts(groups) {
        assert!(verdict == Verdict::Linearizable, "seed {seed}: {verdict:?}");
    }
}

/// Number of operations that overlapped another one. Without overlaps there is nothing to explain.
fn overlapping(groups: &[Vec<Operation>]) -> usize {
    let overlaps = |one: &Operation, group: &[Operation]| {
        group.iter().any(|other| {
            other.called < one.called && other.answered.is_none_or(|at| at > one.called)
        })
    };
    groups.iter().flat_map(|group| group.iter().filter(|one| overlaps(one, group))).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_answers_many_clients_as_if_one_came_after_the_other() {
    let (mut operations, mut overlapped) = (0, 0);
    for seed in 0..courses() {
        let directory = tempfile::tempdir().expect("a directory");
        let clock = HandClock::at(Timestamp(1_000_000));
        let store = sqlite(directory.path(), &clock).await;
        deploy(&*store).await;
        let served: Arc<dyn Served> = Arc::new(store);
        let groups = run(&[served], &clock, &course(seed)).await;
        explained(seed, &groups);
        operations += groups.iter().map(Vec::len).sum::<usize>();
        overlapped += overlapping(&groups);
    }
    println!("{operations} operations on SQLite, {overlapped} of them at the same time as another");
    assert!(overlapped * 2 > operations, "{overlapped} of {operations}");
}

/// The stores of two hosts over one database. Clients use them in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_answers_the_clients_of_two_hosts_as_if_one_came_after_the_other() {
    let Some(cluster) = Cluster::shared() else { return };
    let (mut operations, mut overlapped) = (0, 0);
    for seed in 0..courses() {
        let database = cluster.database();
        let mut config = PostgresConfig::new(&database.url()).expect("an address");
        config.server_time = false;
        let clock = HandClock::at(Timestamp(1_000_000));
        let mut opened: Vec<Arc<dyn Store>> = Vec::new();
        for _ in 0..2 {
            let (env, hints) = (env(&clock), Arc::new(HintSwitch::default()));
            let store = PostgresStore::open(config.clone(), Config::default(), env, hints);
            opened.push(store.await.expect("it opens"));
        }
        deploy(&*opened[0]).await;
        let served: Vec<Arc<dyn Served>> =
            opened.iter().map(|store| Arc::new(store.clone()) as Arc<dyn Served>).collect();
        let groups = run(&served, &clock, &course(seed)).await;
        explained(seed, &groups);
        operations += groups.iter().map(Vec::len).sum::<usize>();
        overlapped += overlapping(&groups);
        for store in opened {
            store.close().await;
        }
    }
    println!("{operations} operations on PostgreSQL, {overlapped} at the same time as another");
    assert!(overlapped * 2 > operations, "{overlapped} of {operations}");
}

/// Checks the search itself: it must find every kind of defect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_lies_is_found_out() {
    for lie in [Lie::StaleRead, Lie::LostWrite, Lie::DoubleGrant] {
        let mut found = 0;
        for seed in 0..4 {
            let clock = HandClock::at(Timestamp(1_000_000));
            let env = env(&clock);
            let memory: Arc<dyn Store> =
                MemoryStore::new(Config::default(), env, Arc::new(HintSwitch::default()));
            deploy(&*memory).await;
            let now = segno_env::Clock::now(&*clock);
            let liar: Arc<dyn Served> = Arc::new(LyingStore::new(Arc::new(memory), lie, now));
            let groups = run(&[liar], &clock, &course(seed)).await;
            let lied = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
            found += verdicts(&groups).iter().filter(|verdict| lied(verdict)).count();
        }
        assert!(found > 0, "{lie:?} was never found");
        println!("{lie:?}: found in {found} of 16 groups");
    }
}

/// Checks that the search refuses a single wrong answer in an otherwise correct history.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_answer_changed_is_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let clock = HandClock::at(Timestamp(1_000_000));
    let store = sqlite(directory.path(), &clock).await;
    deploy(&*store).await;
    let served: Arc<dyn Served> = Arc::new(store);
    let mut groups = run(&[served], &clock, &course(99)).await;
    explained(99, &groups);
    let read = |operation: &&mut Operation| {
        matches!(operation.asked, Asked::Read(_))
            && operation.answer.as_ref().is_some_and(|answer| answer.contains("Pending"))
    };
    let operation = groups.iter_mut().flatten().find(read).expect("a client saw a pending promise");
    operation.answer =
        operation.answer.as_ref().map(|answer| answer.replacen("Pending", "Settled", 1));
    assert!(verdicts(&groups).iter().any(|verdict| matches!(verdict, Verdict::Violated(_))));
}
