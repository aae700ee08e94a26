//! A store of several databases: it answers and keeps what a store of one does.

use std::sync::Arc;

use segno_core::{
    command::Command, config::Config, promise::OutboxMessageKind, reply::Reply, time::Millis,
};
use segno_env::Clock as _;
use throwaway_postgres::Database;

use super::{
    super::{
        HandClock, NoHints, conformance::compare_rows, deploy, dice::Dice, env, memory, script,
    },
    config, database,
};
use crate::{
    Store,
    postgres::{PostgresOpenError, ShardedStore},
};

pub(super) async fn sharded(
    databases: &[Database<'_>],
    clock: &Arc<HandClock>,
    engine: &Config,
) -> Result<Arc<ShardedStore>, PostgresOpenError> {
    let configs = databases.iter().map(|database| config(&database.url())).collect();
    ShardedStore::open(configs, engine.clone(), env(clock), Arc::new(NoHints)).await
}

pub(super) fn databases(count: usize) -> Option<Vec<Database<'static>>> {
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
        store.close().await;
    }
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
