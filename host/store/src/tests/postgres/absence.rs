//! A database outage: nothing is lost, and nothing happens twice.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use segno_core::{config::Config, id::PromiseId, reply::Reply};
use throwaway_postgres::Cluster;

use super::{
    super::{HandClock, create},
    open,
};
use crate::{Store as _, StoreError, postgres::PostgresStore};

async fn opened(cluster: &Cluster) -> Arc<PostgresStore> {
    let url = cluster.database().url();
    open(&url, &HandClock::new(), &Config::default()).await.expect("it opens")
}

/// Stops the server during commits, and starts it again.
async fn interrupt(cluster: &Cluster, crash: bool) {
    tokio::task::block_in_place(|| {
        std::thread::sleep(Duration::from_millis(30));
        if crash {
            cluster.crash()
        } else {
            cluster.stop()
        }
        cluster.up().expect("it starts again");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_under_way_when_the_database_ends_are_made_exactly_once() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let store = opened(&cluster).await;
    for (round, crash) in [(0, false), (1, true), (2, true)] {
        let ids: Vec<String> = (0..300).map(|n| format!("r{round}/{n}")).collect();
        let wants = join_all(ids.iter().map(|id| {
            let store = store.clone();
            async move {
                // Like a client, repeat after an unknown outcome.
                loop {
                    match store.execute(vec![create(id, &[])]).await {
                        Ok(replies) => return replies,
                        Err(StoreError::Away { .. } | StoreError::UnknownOutcome(_)) => {}
                        Err(error) => panic!("{id}: {error:?}"),
                    }
                }
            }
        }));
        let (replies, ()) =
            tokio::join!(tokio::task::unconstrained(wants), interrupt(&cluster, crash));
        for (id, replies) in ids.iter().zip(replies) {
            assert!(matches!(replies[0], Reply::Promise { .. }), "{id}: {replies:?}");
        }
        let ids: Vec<PromiseId> = ids.iter().map(|id| id.as_str().into()).collect();
        let kept = store.read().promises(&ids).await.expect("the database answers again");
        assert!(kept.iter().all(Option::is_some), "an answered promise is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stays_away_is_said_to_be_away_and_used_when_it_is_back() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let store = opened(&cluster).await;
    store.execute(vec![create("before", &[])]).await.expect("it is there");
    cluster.stop();
    let refused = store.execute(vec![create("meanwhile", &[])]).await;
    assert!(matches!(refused, Err(StoreError::Away { .. })), "{refused:?}");
    let refused = store.read().promise(&"before".into()).await;
    assert!(matches!(refused, Err(StoreError::Away { .. })), "{refused:?}");
    cluster.up().expect("it starts again");
    let replies = store.execute(vec![create("meanwhile", &[])]).await.expect("it is back");
    assert!(matches!(replies[0], Reply::Promise { changed: true, .. }), "nothing was written");
    assert!(store.read().promise(&"before".into()).await.expect("a read").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_refused_row_does_not_fail_the_neighbours() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let store =
        open(&database.url(), &HandClock::new(), &Config::default()).await.expect("it opens");
    database.sql("ALTER TABLE promises ADD CONSTRAINT poison CHECK (id <> 'poison')");
    let ids: Vec<String> =
        (0..40).map(|n| if n == 20 { "poison".to_owned() } else { format!("p{n}") }).collect();
    let answers = join_all(ids.iter().map(|id| store.execute(vec![create(id, &[])]))).await;
    for (id, answer) in ids.iter().zip(answers) {
        match id.as_str() {
            "poison" => assert!(matches!(answer, Err(StoreError::Database { .. })), "{answer:?}"),
            _ => assert!(answer.is_ok(), "{id}: {answer:?}"),
        }
    }
    let before = store.written();
    let many = (0..256).map(|n| create(&format!("q{n}"), &[("target", "poll://w")])).collect();
    store.execute(many).await.expect("replies");
    let statements = store.written().statements - before.statements;
    assert!(statements < 12, "{statements} statements for 256 commands");
    store.close().await;
    let refused = store.execute(vec![create("late", &[])]).await;
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
}
