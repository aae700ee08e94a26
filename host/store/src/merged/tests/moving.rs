//! A shard moves between the look at the map and the read.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use segno_core::{
    config::Config,
    id::PromiseId,
    shard::{ShardMap, ShardMove},
    time::{Millis, Timestamp},
};
use segno_env::HandClock;

use super::{DatabasePresence, MergedReads, parts, stores};
use crate::{
    Read as _, Store as _,
    archive::{ArchiveError, ArchiveSink},
    current_shards::CurrentShards,
    merged::MergedDatabases,
    tests::{create, env, memory},
};

/// Databases of which one receives a shard after the first look.
struct MovedMeanwhile {
    shards: CurrentShards,
    after: ShardMap,
    has_looked: AtomicBool,
}

#[async_trait]
impl MergedDatabases for MovedMeanwhile {
    async fn renew(&self) {
        if self.has_looked.swap(true, Ordering::Relaxed) {
            self.shards.advance(self.after.clone());
        }
    }

    fn in_doubt(&self) -> Millis {
        Millis::ZERO
    }

    async fn oldest_in_doubt(&self) -> Option<Millis> {
        None
    }

    async fn export(&self, _sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_read_looks_again_where_its_rows_are() {
    let (clock, id) = (HandClock::new(), PromiseId::from("a"));
    let whole = memory(&clock, &Config::default());
    whole.execute(vec![create("a", &[])]).await.expect("it is made");
    let (parts, map) = parts(&whole, 2);
    // The rows are already where the shard arrives.
    let (there, shard) = (map.promise(&id), map.shard("a"));
    let mut before = map.clone();
    before.places[shard] = 1 - there as u16;
    let to = there as u16;
    before.moving =
        Some(ShardMove { shard: shard as u16, to, is_halted: true, until: Timestamp(0) });
    let after = ShardMap { epoch: map.epoch + 1, ..map };
    let reads = || {
        let shards = CurrentShards::new(before.clone());
        let moved = MovedMeanwhile {
            shards: shards.clone(),
            after: after.clone(),
            has_looked: AtomicBool::new(false),
        };
        let members = stores(parts.clone());
        let presence = DatabasePresence::new(members.clone(), env(&clock));
        MergedReads::new(members, shards, Some(std::sync::Arc::new(moved)), presence)
    };
    assert!(reads().promise(&id).await.expect("a read").is_some());
    assert!(reads().promises(&[id]).await.expect("a read")[0].is_some());
}
