//! Pairs of commands on two hosts: the second arrives while the first holds its locks and has not
//! committed.
//!
//! For any two commands, there must be an order in which the rules alone give the same answers and
//! the same rows. This way, every kind of command meets the visibility rules of the tables (a
//! snapshot per statement, rows inserted during a lock wait), without hand-written pairs.
//! `SEGNO_PAIRS` sets the number of pairs (240), `SEGNO_SEED` the first seed.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{
    command::Command,
    config::Config,
    footprint::footprint,
    id::{Holder, PromiseId},
    invariants,
    model::Model,
    reply::Reply,
    snapshot::Snapshot,
    time::{Millis, Timestamp},
    view::View,
};
use segno_env::{Clock as _, Runtime as _, SystemRuntime};
use throwaway_postgres::Database;
use tokio::task::JoinHandle;

use super::{
    super::{HandClock, MODULE, create, deploy, dice::Dice, script},
    database, store,
    waiting::{Gate, Waiters},
};
use crate::{Store as _, conformance::facts, postgres::PostgresStore};

/// Pairs per database; after these, a new one starts, since the rows accumulate.
const ROUND: u64 = 40;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_two_hosts_do_at_once_is_as_if_one_came_after_the_other() {
    let (pairs, first) = (number("SEGNO_PAIRS").unwrap_or(240), number("SEGNO_SEED").unwrap_or(0));
    let mut waited = 0;
    for seed in first..first + pairs.div_ceil(ROUND) {
        let Some(database) = database() else { return };
        let (clock, config) = (HandClock::new(), Config::default());
        let one = store(&database, &clock, &config).await;
        let two = store(&database, &clock, &config).await;
        deploy(&*one).await;
        let mut rows = View::new();
        rows.put_module_facts(MODULE, facts());
        rows.put_alias("shop".into(), MODULE);
        let rules = Model::from(rows);
        let mut crossing = Crossing { database, clock, config, rules, one, two };
        waited += crossing.walk(seed).await;
        crossing.one.close().await;
        crossing.two.close().await;
    }
    println!("{waited} of {pairs} second commands had to wait");
    assert!(pairs < 200 || waited * 2 > pairs, "{waited} of {pairs} is too few to mean much");
}

struct Crossing {
    database: Database<'static>,
    clock: Arc<HandClock>,
    config: Config,
    /// The expected rows.
    rules: Model,
    one: Arc<PostgresStore>,
    two: Arc<PostgresStore>,
}

impl Crossing {
    /// Runs the pairs of a seed. Returns the number of second commands that had to wait.
    async fn walk(&mut self, seed: u64) -> u64 {
        let mut dice = Dice::new(seed + 77_000);
        let mut waiters = Waiters::new(&self.database).await;
        for _ in 0..12 {
            self.alone(&mut dice).await;
        }
        let mut waited = 0;
        for pair in 0..ROUND {
            if dice.roll(3) == 0 {
                self.clock.advance(Millis(dice.roll(3_000) as i64));
            }
            for _ in 0..dice.roll(3) {
                self.alone(&mut dice).await;
            }
            let seen = Snapshot::of(&self.rules);
            let (first, second) = pair_of(&mut dice, &seen, self.clock.now());
            let context = format!("pair {pair} of seed {seed}: {first:?} holds, then {second:?}");
            // The first host's batch waits at this promise, with all its locks held.
            let last = create(&format!("gate/{pair}"), &[]);
            let gate = Gate::id(&self.database, &format!("gate/{pair}")).await;
            let holding = submit(&self.two, vec![first.clone(), last.clone()]);
            waiters.reach(1, &holding).await;
            let crossing = submit(&self.one, vec![second.clone()]);
            waiters.reach(2, &crossing).await;
            waited += u64::from(!crossing.is_finished());
            gate.open().await;
            let mut held = holding.await.expect("it ends");
            let crossed = crossing.await.expect("it ends").remove(0);
            held.truncate(1);
            let came = (held.remove(0), crossed, self.one.read().dump().await.expect("a dump"));
            let in_order = |commands: [&Command; 3]| {
                let mut rules = self.rules.clone();
                let replies = commands.map(|command| self.decide(&mut rules, command));
                (replies, rules)
            };
            let ([held, _, crossed], rules) = in_order([&first, &last, &second]);
            let after = (held, crossed, Snapshot::of(&rules));
            if came == after {
                self.rules = rules;
                continue;
            }
            let ([crossed, held, _], rules) = in_order([&second, &first, &last]);
            let before = (held, crossed, Snapshot::of(&rules));
            assert!(
                came == before,
                "{context}\ncame to {:?}, {:?}\nafter it would be {:?}, {:?}\nbefore it {:?}, {:?}\nrows as after \
                 it: {}, as before it: {}",
                came.0,
                came.1,
                after.0,
                after.1,
                before.0,
                before.1,
                came.2 == after.2,
                came.2 == before.2,
            );
            self.rules = rules;
            let violations = invariants::check(&came.2);
            assert!(violations.is_empty(), "{context}: {violations:?}");
        }
        waited
    }

    fn decide(&self, rules: &mut Model, command: &Command) -> Reply {
        let decision = rules.decide(command, self.clock.now(), &self.config);
        rules.apply(&decision.delta);
        decision.reply
    }

    /// Runs one command of the script without a concurrent one.
    async fn alone(&mut self, dice: &mut Dice) {
        let command = script::command(dice, &Snapshot::of(&self.rules), self.clock.now());
        let mut rules = self.rules.clone();
        let expected = self.decide(&mut rules, &command);
        self.rules = rules;
        let replies = self.one.execute(vec![command.clone()]).await.expect("replies");
        assert_eq!(replies, [expected], "{command:?}");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is looked at from outside until it ends is a task"
)]
fn submit(host: &Arc<PostgresStore>, commands: Vec<Command>) -> JoinHandle<Vec<Reply>> {
    let host = host.clone();
    tokio::spawn(async move { host.execute(commands).await.expect("replies") })
}

/// Two commands, usually about the same existing promises.
fn pair_of(dice: &mut Dice, seen: &Snapshot, now: Timestamp) -> (Command, Command) {
    let names = |command: &Command| -> BTreeSet<PromiseId> {
        let named = footprint(command).composites.into_iter();
        named.filter(|id| seen.promises.contains_key(id)).collect()
    };
    let mut until = |fits: &dyn Fn(&Command) -> bool| {
        let mut drawn = script::command(dice, seen, now);
        for _ in 0..200 {
            if fits(&drawn) {
                break;
            }
            drawn = script::command(dice, seen, now);
        }
        drawn
    };
    let first = until(&|command| !names(command).is_empty());
    let about = names(&first);
    let second = until(&|command| !names(command).is_disjoint(&about));
    // Worker commands do not name the tasks they affect.
    match dice.roll(12) {
        0 => (first, Command::WorkerHeartbeat { holder: holder(dice, seen) }),
        1 => (first, Command::WorkerGone { holder: holder(dice, seen), unheard_since: now }),
        _ => (first, second),
    }
}

/// A holder of some claim, if there is one.
fn holder(dice: &mut Dice, seen: &Snapshot) -> Holder {
    let held = seen.tasks.values().filter_map(|task| task.lease());
    let holders: Vec<Holder> = held.map(|lease| lease.holder.clone()).collect();
    match holders.is_empty() {
        true => Holder::worker("nobody"),
        false => dice.of(&holders),
    }
}

impl Waiters {
    /// Waits until `count` transactions wait for locks, or until `task` has ended.
    async fn reach<T>(&mut self, count: usize, task: &JoinHandle<T>) {
        for _ in 0..10_000 {
            if task.is_finished() || self.count().await >= count {
                return;
            }
            SystemRuntime.sleep(Millis(1)).await;
        }
        panic!("{count} transactions never waited");
    }
}
