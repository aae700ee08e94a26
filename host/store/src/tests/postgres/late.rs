//! A store of two databases is opened while one of them is away, which arrives later.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    id::{HostName, PromiseId},
    limit::LimitName,
    reply::Reply,
    tags,
    time::Millis,
};
use segno_env::{Runtime as _, SystemRuntime};
use throwaway_postgres::{Cluster, Database};

use super::{
    super::{HandClock, NoHints, create, deploy, env},
    config,
};
use crate::{
    Store, StoreError,
    postgres::{PostgresOpenError, ShardedStore},
};

async fn open(
    databases: &[Database<'_>],
    may_be_late: bool,
    clock: &Arc<HandClock>,
) -> Result<Arc<ShardedStore>, PostgresOpenError> {
    let mut configs: Vec<_> = databases.iter().map(|database| config(&database.url())).collect();
    configs.iter_mut().for_each(|config| config.may_be_late = may_be_late);
    ShardedStore::open(configs, Config::default(), env(clock), Arc::new(NoHints)).await
}

/// The incarnation of a host that starts now.
async fn start(store: &ShardedStore) -> u64 {
    let started = Command::HostStart { node: HostName::new("h") };
    let replies = store.execute(vec![started]).await.expect("a host starts");
    let [Reply::Host { incarnation, .. }] = replies[..] else { panic!("{replies:?}") };
    incarnation
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_starts_without_a_database_that_arrives_later() {
    let Some(clusters) = (0..2).map(|_| Cluster::start(&[])).collect::<Option<Vec<_>>>() else {
        return;
    };
    let databases: Vec<_> = clusters.iter().map(Cluster::database).collect();
    let clock = HandClock::new();
    clusters[1].stop();
    let refused =
        open(&databases, true, &clock).await.map(drop).expect_err("a new store needs all");
    assert!(refused.to_string().starts_with("no database answers"), "{refused}");
    let tables = databases[0].sql("SELECT count(*) FROM shards");
    assert_eq!(tables.trim(), "0", "nothing was founded");
    clusters[1].up().expect("it starts");

    let before = open(&databases, true, &clock).await.expect("all are here");
    assert_eq!((start(&before).await, before.missing()), (1, vec![]));
    deploy(&*before).await;
    let map = before.shards();
    let in_database = |database| {
        let mut ids = (0..).map(|n| PromiseId::from(&*format!("order-{n}")));
        ids.find(|id| map.promise(id) == database).expect("one of them")
    };
    let ids = [in_database(0), in_database(1)];
    before.close().await;

    for away in [0, 1] {
        // The order of the databases is that of the map, whatever the order of the addresses.
        let address = databases[away].url();
        let of_map = databases[away].sql("SELECT database FROM shards");
        let of_map: usize = of_map.trim().parse().expect("a number");
        clusters[away].stop();
        let refused = open(&databases, false, &clock).await.map(drop).expect_err("it is away");
        assert!(refused.to_string().starts_with("no database answers"), "{refused}");
        let store = open(&databases, true, &clock).await.expect("it opens without");
        let incarnation = start(&store).await;
        // The row of its limit would be in the database that is away, if the function had one.
        let functions = (0..).map(|n| format!("f{n}"));
        let mut functions = functions.filter(|f| map.limit(&LimitName::of("shop", f)) == of_map);
        let target = format!("wasm://shop/{}", functions.next().expect("one of them"));
        let there = ids[1 - of_map].named(&away.to_string());
        let there = create(there.as_str(), &[(tags::TARGET, &target)]);
        store.execute(vec![there]).await.expect("the other database takes commands");
        assert_eq!(store.missing(), [address]);
        let lost = store.read().promise(&ids[of_map]).await.expect_err("it is away");
        assert!(lost.to_string().contains("was away when this host started"), "{lost}");
        let lost = store.execute(vec![create(ids[of_map].as_str(), &[])]).await;
        assert!(matches!(lost, Err(StoreError::Away { .. })), "{lost:?}");

        clusters[away].up().expect("it starts");
        for _ in 0..100 {
            if store.missing().is_empty() {
                break;
            }
            SystemRuntime.sleep(Millis(100)).await;
        }
        assert_eq!(store.missing(), Vec::<String>::new(), "it arrived");
        store.execute(vec![create(ids[of_map].as_str(), &[])]).await.expect("it takes commands");
        for database in &databases {
            let known = database.sql("SELECT incarnation FROM hosts WHERE node = 'h'");
            assert_eq!(known.trim(), incarnation.to_string(), "every database knows the host");
        }
        assert_eq!(start(&store).await, incarnation + 1);
        store.close().await;
    }
}
