//! Dropped reads: a client disconnected, or a host was stopped.

use futures::future::join_all;
use segno_core::{config::Config, id::PromiseId};
use throwaway_postgres::Cluster;

use super::{
    super::{HandClock, create},
    open,
};
use crate::Store as _;

/// Yields `many` times to other tasks; each takes some microseconds.
async fn turns(many: u32) {
    for _ in 0..many {
        tokio::task::yield_now().await;
    }
}

/// Number of reads to drop.
const ROUNDS: u32 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_given_up_leaves_no_connection_in_the_past() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let store =
        open(&database.url(), &HandClock::new(), &Config::default()).await.expect("it opens");
    for round in 0..ROUNDS {
        // Drop the read at every stage, including the begin of the transaction.
        tokio::select! {
            biased;
            _ = store.read().dump() => {}
            () = turns(round % 150) => {}
        }
        let id = format!("p{round}");
        store.execute(vec![create(&id, &[])]).await.expect("it is made");
        let id = PromiseId::from(id.as_str());
        // Check every pooled connection.
        let reads = join_all((0..8).map(|_| store.read().promise(&id))).await;
        for read in reads {
            let found = read.expect("the database answers");
            assert!(found.is_some(), "round {round}: what was committed is not seen");
        }
    }
}
