//! Tests of merged reads: a memory store whose rows are divided among several answers like the
//! store itself.

mod away;
mod modules;
mod moving;
mod paging;
mod pieces;
mod rows;

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    config::Config,
    id::{CommandIndex, ScheduleId},
    promise::{NewSchedule, Overlap, PromiseTemplate},
    reply::Reply,
    shard::ShardMap,
    tags,
    time::Millis,
    value::{Tags, Value},
};
use segno_env::{Clock as _, HandClock};

use super::{DatabasePresence, MergedReads};
use crate::{
    CallTree, MemoryStore, Modules, Read, Scan, Store, StoreError, WorkQueue,
    conformance::{dice::Dice, script},
    current_shards::CurrentShards,
    tests::{
        create, deploy, env, memory,
        work::{acquire, fence, run},
    },
};

#[async_trait]
impl Store for MergedReads {
    async fn execute(&self, _commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        Err(StoreError::Closed)
    }

    fn read(&self) -> &dyn Read {
        self
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self
    }

    fn scan(&self) -> &dyn Scan {
        self
    }

    fn call_tree(&self) -> &dyn CallTree {
        self
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        Err(StoreError::Closed)
    }

    async fn close(&self) {}
}

/// The parts of a store in this number of databases.
fn parts(whole: &MemoryStore, databases: u16) -> (Vec<Arc<MemoryStore>>, ShardMap) {
    let map = ShardMap::dealt(databases);
    ((0..map.database_count()).map(|database| whole.part(&map, database)).collect(), map)
}

/// The same content in this number of databases.
fn divided(whole: &MemoryStore, databases: u16) -> MergedReads {
    let (parts, map) = parts(whole, databases);
    merged(stores(parts), CurrentShards::new(map))
}

/// Reads of these databases.
fn merged(members: Vec<Arc<dyn Store>>, shards: CurrentShards) -> MergedReads {
    let presence = DatabasePresence::new(members.clone(), env(&HandClock::new()));
    MergedReads::new(members, shards, None, presence)
}

fn stores(parts: Vec<Arc<MemoryStore>>) -> Vec<Arc<dyn Store>> {
    parts.into_iter().map(|part| part as Arc<dyn Store>).collect()
}

/// A store after a random script.
async fn scripted(seed: u64, steps: usize) -> (Arc<MemoryStore>, Arc<HandClock>) {
    let clock = HandClock::new();
    let store = memory(&clock, &Config::default());
    deploy(&*store).await;
    schedules_and_events(&*store).await;
    let mut dice = Dice::new(seed);
    for _ in 0..steps {
        if dice.roll(3) == 0 {
            clock.advance(Millis(dice.roll(6_000) as i64));
        }
        let seen = store.read().dump().await.expect("a dump");
        let commands = match dice.roll(6) {
            0 => store.work_queue().due(clock.now(), 3).await.expect("what is due").commands,
            _ => vec![script::command(&mut dice, &seen, clock.now())],
        };
        store.execute(commands).await.expect("replies");
    }
    (store, clock)
}

/// Six schedules and eight events: scripts have few.
async fn schedules_and_events(store: &dyn Store) {
    for n in 0..6 {
        let template = PromiseTemplate {
            id: "{{.id}}-{{.timestamp}}".into(),
            param: Value::default(),
            tags: Tags::new(),
            timeout: Millis::seconds(1),
        };
        let schedule = NewSchedule {
            id: ScheduleId::from(&*format!("s-{n}")),
            cron: "* * * * *".into(),
            zone: Default::default(),
            jitter: Millis::ZERO,
            template,
            overlap: Overlap::Allow,
        };
        run(store, Command::ScheduleCreate(schedule)).await;
    }
    for n in 0..4 {
        let id = format!("publisher-{n}");
        run(store, create(&id, &[(tags::TARGET, "wasm://shop/order")])).await;
        let claim = acquire(store, &id, "node").await;
        run(store, fence(&claim, 0)).await;
        for seq in 1..3 {
            let mut command = fence(&claim, seq);
            if let Command::TaskFence { actions, .. } = &mut command {
                let act =
                    FenceOperation::Publish { topic: "news".into(), payload: Value::default() };
                actions.push(FenceAction { index: CommandIndex(seq - 1), act });
            }
            run(store, command).await;
        }
    }
    let events = store.read().events(None, 100).await.expect("events");
    assert_eq!(events.len(), 8);
}
