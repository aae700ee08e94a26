//! Several hosts on one database: the outcome of concurrent commands equals that of some serial
//! order, and no host waits forever.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::future::join_all;
use segno_core::{
    command::{ClaimRequest, Command},
    config::Config,
    id::{Claim, Holder, HostName, PromiseId, Version},
    invariants,
    promise::Verdict,
    reply::Reply,
    time::Millis,
    value::Value,
};
use segno_env::Clock as _;
use throwaway_postgres::Database;

use super::{
    super::{HandClock, create, deploy, dice::Dice, script},
    database, store,
};
use crate::{Store as _, StoreError, postgres::PostgresStore};

const HOSTS: usize = 3;

async fn hosts(database: &Database<'_>, clock: &Arc<HandClock>) -> Vec<Arc<PostgresStore>> {
    // One after the other: the first host creates the tables.
    let mut hosts = Vec::new();
    for _ in 0..HOSTS {
        hosts.push(store(database, clock, &Config::default()).await);
    }
    hosts
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_start_together_make_the_tables_once() {
    let Some(database) = database() else { return };
    let (clock, engine) = (HandClock::new(), Config::default());
    let opened = join_all((0..HOSTS).map(|_| store(&database, &clock, &engine))).await;
    assert_eq!(opened.len(), HOSTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_all_want_is_made_once() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let hosts = hosts(&database, &clock).await;
    for round in 0..20 {
        // Half of the hosts use the reverse order.
        let ids: Vec<String> = (0..20).map(|n| format!("r{round}/{n}")).collect();
        let wants = hosts.iter().enumerate().map(|(number, host)| {
            let mut commands: Vec<_> =
                ids.iter().map(|id| create(id, &[("target", "poll://w")])).collect();
            if number % 2 == 1 {
                commands.reverse();
            }
            host.execute(commands)
        });
        let replies = join_all(wants).await;
        let made = replies.into_iter().flat_map(|replies| replies.expect("replies"));
        let made = made.filter(|reply| matches!(reply, Reply::Promise { changed: true, .. }));
        assert_eq!(made.count(), ids.len(), "round {round}");
    }
    assert_eq!(database.deadlocks(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_all_want_is_held_by_one() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let hosts = hosts(&database, &clock).await;
    let ids: Vec<PromiseId> = (0..60).map(|n| format!("t{n}").as_str().into()).collect();
    let made = ids.iter().map(|id| create(id.as_str(), &[("target", "poll://w")])).collect();
    hosts[0].execute(made).await.expect("tasks");
    let taken = AtomicUsize::new(0);
    let wants = hosts.iter().enumerate().flat_map(|(number, host)| {
        let taken = &taken;
        ids.iter().map(move |id| async move {
            let holder = Holder { node: HostName::new(format!("n{number}")), incarnation: 1 };
            let request = ClaimRequest { holder, nonce: number as u64, ttl: Millis(60_000) };
            let claim = Claim { id: id.clone(), version: Version(0) };
            let acquire = Command::TaskAcquire { claim, request, stall_limit: None };
            let replies = host.execute(vec![acquire]).await.expect("a reply");
            if matches!(replies[0], Reply::Task(_)) {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    join_all(wants).await;
    assert_eq!(taken.load(Ordering::Relaxed), ids.len());
    assert_eq!(database.deadlocks(), [""; 0]);
}

/// Awaiters and the promises they await, settled from all hosts concurrently: locks are requested
/// in every order.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_left_waiting_by_settlements_from_all_sides() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let hosts = hosts(&database, &clock).await;
    let id = |n: usize| PromiseId::from(format!("p{n}").as_str());
    let count = 40;
    let made = (0..count).map(|n| create(id(n).as_str(), &[("target", "poll://w")])).collect();
    hosts[0].execute(made).await.expect("promises");
    let callback = |n: usize, step: usize| Command::RegisterCallback {
        awaited: id((n + step) % count),
        awaiter: id(n),
    };
    let waits = (0..count).flat_map(|n| [1, 7, 13].map(|step| callback(n, step))).collect();
    hosts[0].execute(waits).await.expect("callbacks");
    let settle = |n: usize| Command::PromiseSettle {
        id: id(n),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let work = hosts.iter().enumerate().flat_map(|(number, host)| {
        (0..count).map(move |n| {
            // Each host uses another direction and stride.
            let n = (n * [1, 39, 11][number]) % count;
            host.execute(vec![settle(n), callback((n + 3) % count, 1), settle((n + 20) % count)])
        })
    });
    for replies in join_all(work).await {
        replies.expect("replies");
    }
    let dump = hosts[0].read().dump().await.expect("a dump");
    assert!(dump.promises.values().all(|promise| !promise.is_pending()));
    assert!(invariants::check(&dump).is_empty());
    assert_eq!(database.deadlocks(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn random_scripts_of_several_hosts_break_no_invariant() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let hosts = hosts(&database, &clock).await;
    deploy(&*hosts[0]).await;
    let rounds = 25;
    let mut refused = 0;
    for round in 0..rounds {
        clock.advance(Millis(500));
        let seen = hosts[0].read().dump().await.expect("a dump");
        let work = hosts.iter().enumerate().map(|(number, host)| {
            let mut dice = Dice::new((round * HOSTS + number) as u64 + 1_000);
            let batches: Vec<Vec<Command>> = (0..12)
                .map(|_| {
                    let length = 1 + dice.roll(4);
                    (0..length).map(|_| script::command(&mut dice, &seen, clock.now())).collect()
                })
                .collect();
            async move { join_all(batches.into_iter().map(|batch| host.execute(batch))).await }
        });
        for answer in join_all(work).await.into_iter().flatten() {
            match answer {
                Ok(_) => {}
                Err(StoreError::Conflict) => refused += 1,
                Err(error) => panic!("round {round}: {error:?}"),
            }
        }
        let dump = hosts[0].read().dump().await.expect("a dump");
        let violations = invariants::check(&dump);
        assert!(violations.is_empty(), "round {round}: {violations:?}");
    }
    assert!(refused < rounds, "{refused} submissions lost twenty races in a row");
    assert_eq!(database.deadlocks(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lives_of_one_host_that_begin_together_are_told_apart() {
    let Some(database) = database() else { return };
    let clock = HandClock::new();
    let hosts = hosts(&database, &clock).await;
    let lives = hosts.iter().map(|host| async move {
        let replies = host.execute(vec![Command::HostStart { node: "n".into() }]).await;
        match replies.expect("a reply").remove(0) {
            Reply::Host { incarnation, .. } => incarnation,
            other => panic!("{other:?}"),
        }
    });
    let lives: BTreeSet<u64> = join_all(lives).await.into_iter().collect();
    assert_eq!(lives, BTreeSet::from([1, 2, 3]));
}
