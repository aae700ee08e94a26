//! Modules are copied to every database; the first decides which there are.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    id::Digest,
    object::ModuleFacts,
    shard::ShardMap,
    time::{Millis, Timestamp},
};
use segno_env::{Clock as _, HandClock};

use super::{merged, stores};
use crate::{
    MemoryStore, Modules as _, NewModule, Store as _, conformance::facts,
    current_shards::CurrentShards, merged::MergedReads, tests::memory,
};

const DIGEST: Digest = Digest([7; 32]);

fn databases(clock: &Arc<HandClock>) -> (Vec<Arc<MemoryStore>>, MergedReads) {
    let members: Vec<_> = (0..3).map(|_| memory(clock, &Config::default())).collect();
    let merged = merged(stores(members.clone()), CurrentShards::new(ShardMap::dealt(3)));
    (members, merged)
}

fn module(facts: ModuleFacts) -> NewModule {
    let description = "{\"functions\":[]}".to_owned();
    let component = Arc::from(&b"component"[..]);
    NewModule { digest: DIGEST, component, description, facts, created_at: Timestamp(1_000) }
}

async fn having(members: &[Arc<MemoryStore>]) -> Vec<bool> {
    let mut having = Vec::new();
    for member in members {
        let component = member.modules().component(DIGEST).await.expect("an answer");
        having.push(component.is_some());
    }
    having
}

#[tokio::test]
async fn every_database_receives_a_module_and_loses_it() {
    let clock = HandClock::new();
    let (members, merged) = databases(&clock);
    merged.put(module(facts())).await.expect("it is kept");
    assert_eq!(having(&members).await, [true; 3]);
    assert_eq!(merged.list().await.expect("modules").len(), 1);
    let later = clock.now() + Millis(5_000);
    assert!(merged.remove(DIGEST, later).await.expect("an answer"));
    assert_eq!(having(&members).await, [false; 3]);
    assert!(!merged.remove(DIGEST, later).await.expect("an answer"), "it is gone");
    assert!(merged.component(DIGEST).await.expect("an answer").is_none());
}

/// A module that one database needs stays in all, with everything that belongs to it.
#[tokio::test]
async fn a_module_in_use_is_put_back() {
    let clock = HandClock::new();
    for user in 0..3 {
        let (members, merged) = databases(&clock);
        merged.put(module(facts())).await.expect("it is kept");
        let named = Command::Deploy { alias: "shop".into(), module: DIGEST };
        members[user].execute(vec![named]).await.expect("it is named");
        let later = clock.now() + Millis(5_000);
        assert!(!merged.remove(DIGEST, later).await.expect("an answer"), "database {user}");
        assert_eq!(having(&members).await, [true; 3], "database {user}");
        for member in &members {
            let rows = member.modules().list().await.expect("modules");
            let row = &rows[0];
            assert_eq!((row.created_at, row.size), (Timestamp(1_000), 9));
            assert_eq!(row.description, module(facts()).description);
            assert_eq!(member.rows().module_facts(&DIGEST), Some(&facts()));
        }
        let early = merged.remove(DIGEST, Timestamp(999)).await.expect("an answer");
        assert!(!early, "it is too young");
    }
}

/// An upload that did not reach the first database is not listed, and one that did not reach
/// another is read from the first. Both can be repeated, and removed.
#[tokio::test]
async fn an_interrupted_upload_or_removal_can_be_repeated() {
    let clock = HandClock::new();
    let later = clock.now() + Millis(5_000);
    let (members, merged) = databases(&clock);
    members[2].modules().put(module(facts())).await.expect("it is kept");
    assert_eq!(merged.list().await.expect("modules").len(), 0);
    assert!(merged.component(DIGEST).await.expect("an answer").is_some());
    merged.put(module(facts())).await.expect("it is kept");
    assert_eq!(having(&members).await, [true; 3]);
    assert!(members[1].modules().remove(DIGEST, later).await.expect("an answer"));
    assert!(merged.remove(DIGEST, later).await.expect("an answer"));
    assert_eq!(having(&members).await, [false; 3]);
}
