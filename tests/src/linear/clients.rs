//! Clients that conflict on purpose: few promises, many clients, and some lost answers.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::future::join_all;
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation, HeartbeatItem},
    id::{Claim, CommandIndex, Digest, Holder, HostName, PromiseId, Version},
    promise::{NewPromise, OutboxKey, ReleaseReason, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use segno_env::{Clock as _, HandClock};
use segno_store::{PromiseRow, Store, StoreError};

use super::history::{Asked, History, Operation};
use crate::sim::Dice;

/// Operations of a store under test.
#[async_trait]
pub trait Served: Send + Sync {
    /// Executes one command.
    async fn execute(&self, command: Command) -> Result<Reply, StoreError>;

    /// Reads a promise with its task, concurrently with commands.
    async fn read(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError>;
}

#[async_trait]
impl Served for Arc<dyn Store> {
    async fn execute(&self, command: Command) -> Result<Reply, StoreError> {
        let mut replies = Store::execute(&**self, vec![command]).await?;
        Ok(replies.pop().expect("one reply for one command"))
    }

    async fn read(&self, id: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        Store::read(&**self).promise(id).await
    }
}

/// Parameters of a course.
pub struct Course {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of clients, which use the stores in turn.
    pub clients: usize,
    /// Number of independent groups of promises.
    pub groups: usize,
    /// Number of phases. Between two phases all clients wait for each other, and the clock
    /// advances.
    pub phases: usize,
    /// Number of operations per client and phase.
    pub questions: usize,
    /// Number of lost answers per thousand.
    pub lost: u64,
}

/// Last known versions, by group and promise, from which clients guess.
type Known = Mutex<Vec<[u64; 2]>>;

/// Runs clients on `stores`, which all use one database. Returns the history.
pub async fn run(
    stores: &[Arc<dyn Served>],
    clock: &HandClock,
    course: &Course,
) -> Vec<Vec<Operation>> {
    let history = History::new(course.groups);
    let known = Known::new(vec![[0; 2]; course.groups]);
    for phase in 0..course.phases {
        let clients = (0..course.clients).map(|client| {
            let dice = Dice::new(course.seed, &format!("client {client} {phase}"));
            let store = &stores[client % stores.len()];
            one(&**store, clock.now(), course, client, dice, &history, &known)
        });
        join_all(clients).await;
        clock.advance(Millis(4_000));
    }
    history.close()
}

async fn one(
    store: &dyn Served,
    now: Timestamp,
    course: &Course,
    client: usize,
    mut dice: Dice,
    history: &History,
    known: &Known,
) {
    for _ in 0..course.questions {
        let group = usize::try_from(dice.below(course.groups as u64)).expect("few groups");
        let versions = known.lock().unwrap_or_else(PoisonError::into_inner)[group];
        let asked = question(&mut dice, group, versions, client, now);
        let called = history.event();
        if dice.chance(course.lost / 2) {
            // The answer was lost, so the outcome is unknown.
            history.add(group, Operation { asked, now, called, answered: None, answer: None });
            continue;
        }
        let answered = ask(store, &asked).await;
        let lost = dice.chance(course.lost / 2);
        let answer = match answered {
            Ok((answer, heard)) if !lost => {
                for (place, version) in heard.into_iter().flatten() {
                    known.lock().unwrap_or_else(PoisonError::into_inner)[group][place] = version;
                }
                Some(answer)
            }
            Ok(_) | Err(StoreError::UnknownOutcome(_)) => None,
            Err(error) => panic!("{asked:?}: {error}"),
        };
        let answered = answer.is_some().then(|| history.event());
        history.add(group, Operation { asked, now, called, answered, answer });
    }
}

/// Version in an answer, by place in the group.
type Heard = Option<(usize, u64)>;

async fn ask(store: &dyn Served, asked: &Asked) -> Result<(String, Option<Heard>), StoreError> {
    match asked {
        Asked::Command(command) => {
            let reply = store.execute(command.clone()).await?;
            let heard = match &reply {
                Reply::Task(task) => Some((place(&task.task.id), task.task.version.0)),
                _ => None,
            };
            Ok((format!("{reply:?}"), Some(heard)))
        }
        Asked::Read(id) => {
            let row = store.read(id).await?;
            let heard = row.as_ref().and_then(|row| row.task.as_ref());
            let heard = heard.map(|task| (place(&task.id), task.version.0));
            let row = row.as_ref().map(|row| (&row.promise, row.task.as_ref()));
            Ok((format!("{row:?}"), Some(heard)))
        }
    }
}

fn place(id: &PromiseId) -> usize {
    usize::from(id.as_str().ends_with('b'))
}

fn question(
    dice: &mut Dice,
    group: usize,
    versions: [u64; 2],
    client: usize,
    now: Timestamp,
) -> Asked {
    let place = usize::from(dice.chance(400));
    let name = |place: usize| PromiseId::from(format!("g{group}{}", ["a", "b"][place]).as_str());
    let (id, other) = (name(place), name(1 - place));
    // Mostly the known version, sometimes one that is too old or too new.
    let drift = dice.pick(&[0, 0, 0, 1, 2]);
    let version = Version(if drift == 2 {
        versions[place] + 1
    } else {
        versions[place].saturating_sub(drift)
    });
    let claim = Claim { id: id.clone(), version };
    let holder = Holder { node: HostName::from(format!("n{client}").as_str()), incarnation: 1 };
    let request = ClaimRequest { holder: holder.clone(), nonce: dice.below(3), ttl: Millis(6_000) };
    let (records, logs) = (Vec::new(), Vec::new());
    let value = Value::of(dice.below(1_000).to_string().into_bytes());
    let verdict = dice.pick(&[Verdict::Resolved, Verdict::Rejected]);
    let command = match dice.below(24) {
        0..=2 => Command::PromiseCreate(new(id, dice, now)),
        3 if dice.chance(500) => Command::TaskCreate { new: new(id, dice, now), request },
        3 => {
            let born = Version::default();
            let claim = Claim::first(id.clone(), born);
            let first = vec![Command::TaskFulfill { claim, records, logs, verdict, value }];
            let (new, module, at) = (new(id, dice, now), MODULE, now);
            Command::TaskBegin { new, request, module, at, born, first }
        }
        4 | 5 => return Asked::Read(id),
        6 | 7 => Command::PromiseGet { id },
        8 => Command::TaskGet { id },
        9 => Command::PromiseSettle { id, verdict, value },
        10..=12 => Command::TaskAcquire { claim, request, stall_limit: None },
        13 => Command::TaskFulfill { claim, records, logs, verdict, value },
        14 => Command::TaskRelease { claim, reason: ReleaseReason::Yield },
        15 | 16 => {
            Command::TaskSuspend { claim, records, logs, awaits: [other].into_iter().collect() }
        }
        17 => {
            let act = FenceOperation::Settle { id: other, verdict, value };
            let actions = vec![FenceAction { index: CommandIndex(0), act }];
            Command::TaskFence { claim, records, logs, actions }
        }
        18 => Command::RegisterCallback { awaited: other, awaiter: id },
        19 => Command::RegisterListener { awaited: id, address: Text::from("poll://me") },
        20 => {
            let items = vec![HeartbeatItem { claim, progress: Some((dice.below(9), None)) }];
            Command::TaskHeartbeat { holder, items }
        }
        21 => Command::LeaseDue { id },
        22 => Command::OutboxDue { key: OutboxKey::Unblock(id, Text::from("poll://me")) },
        _ => dice.pick(&[
            Command::TaskHalt { id: id.clone() },
            Command::TaskContinue { id: id.clone() },
            Command::Cancel { invocation: id.clone() },
            Command::RetryDue { id: id.clone() },
            Command::PromiseDue { id },
        ]),
    };
    Asked::Command(command)
}

fn new(id: PromiseId, dice: &mut Dice, now: Timestamp) -> NewPromise {
    let target = dice.pick(&["wasm://shop/order", "poll://workers"]);
    let timeout_at = if dice.chance(200) { now + Millis(9_000) } else { Timestamp::NEVER };
    let tags = Tags::from([(tags::TARGET.to_owned(), target.to_owned())]);
    NewPromise { id, param: Value::of(dice.below(9).to_string().into_bytes()), tags, timeout_at }
}

/// Module of the promises' functions.
pub const MODULE: Digest = Digest([7; 32]);
