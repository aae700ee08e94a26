//! Objects on real hosts: linearizable whatever crashes. Also misuse, and the output of the command
//! line.
//!
//! `SEGNO_OPERATIONS` sets the number of operations of each client (16), `SEGNO_SEED` repeats a
//! run's draws.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use segno_api::model::{InvocationState, StartInvocation, WaitKind};
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::{payments::PaymentsOptions, rng::DemoRng, server::DemoServer};
use segno_env::Env;
use serde_json::{Value as Json, json};
use tests::{
    guests,
    host_group::HostGroup,
    kills::Kills,
    linear::{History, Operation, Rules, Verdict, check_by},
    seed,
    test_host::TestHost,
};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Few registers, so that clients contend for them.
const REGISTERS: usize = 4;
const CLIENTS: usize = 6;
const ACCOUNTS: usize = 100;
/// Initial balance of each account.
const MONEY: u64 = 1_000;

/// Operation of a client on a register.
#[derive(Debug, Clone)]
enum Asked {
    Swap(u64),
    Add(u64),
    Read,
}

/// Rules of a register. Its state is `None` until it is written.
struct Register;

impl Rules for Register {
    type Asked = Asked;
    type State = Option<u64>;

    fn decide(&self, state: &Option<u64>, operation: &Operation<Asked>) -> (Option<u64>, String) {
        let (after, answer) = match operation.asked {
            Asked::Swap(value) => (Some(value), json!(state)),
            Asked::Add(number) => {
                let sum = state.unwrap_or_default() + number;
                (Some(sum), json!(sum))
            }
            Asked::Read => (*state, json!(state)),
        };
        (after, answer.to_string())
    }

    fn digest(state: &Option<u64>) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }
}

/// Calls a function under one id until a host returns its outcome. It is executed once.
async fn settled(
    clients: &[Client],
    first: usize,
    env: &Env,
    id: &str,
    target: &str,
    input: &Json,
) -> Result<Json, String> {
    let request = StartInvocation {
        id: Some(id.to_owned()),
        target: target.to_owned(),
        input: input.clone(),
        wait_ms: Some(5_000),
        ..StartInvocation::default()
    };
    for attempt in 0..400 {
        let answer = clients[(first + attempt) % clients.len()].start(&request).await;
        if let Ok(started) = answer
            && started.invocation.state.is_settled()
        {
            return match started.invocation.state {
                InvocationState::Resolved => Ok(started.invocation.output.unwrap_or_default()),
                state => Err(format!("{state:?} {:?}", started.invocation.failure)),
            };
        }
        env.runtime.sleep(Millis(50)).await;
    }
    panic!("`{id}` has not ended")
}

/// Record of one run's clients.
struct Done {
    history: Vec<Vec<Operation<Asked>>>,
    /// Expected balance of each account, by number.
    money: BTreeMap<usize, u64>,
    transfers: usize,
}

fn account(number: usize) -> String {
    format!("bank/Account@{number}")
}

/// Runs clients on registers and accounts while hosts are killed.
async fn work(clients: &[Client], env: &Env, hosts: &mut [DemoServer]) -> Done {
    let operations = seed::number("SEGNO_OPERATIONS").unwrap_or(16) as usize;
    for number in 0..ACCOUNTS {
        let id = format!("open-{number}");
        let target = format!("{}/deposit", account(number));
        settled(clients, number, env, &id, &target, &json!(MONEY)).await.expect("money is taken");
    }
    let history: History<Asked> = History::new(REGISTERS);
    let kills = Kills::of(4);
    let seed = seed::number("SEGNO_SEED").unwrap_or(7);
    let client = async |number: usize| {
        let mut rng = DemoRng::new(seed * 1_000 + number as u64);
        let mut moved = Vec::new();
        for turn in 0..operations {
            kills.before(turn, operations, env).await;
            let register = rng.between(0, REGISTERS as u64 - 1) as usize;
            let id = format!("op-{number}-{turn}");
            let (asked, function, input) = match rng.between(0, 3) {
                0 => {
                    let value = (number * 1_000 + turn) as u64;
                    (Asked::Swap(value), "swap", json!(value))
                }
                1 => (Asked::Read, "read", Json::Null),
                _ => (Asked::Add(1 + turn as u64), "add", json!(1 + turn)),
            };
            let target = format!("shelf/Register@{register}/{function}");
            let called = history.event();
            let answer = settled(clients, number, env, &id, &target, &input).await;
            let answer = answer.expect("a register takes everything").to_string();
            let answered = Some(history.event());
            let now = env.clock.now();
            let answer = Some(answer);
            history.add(register, Operation { asked, now, called, answered, answer });

            let mut account = || rng.between(0, ACCOUNTS as u64 - 1);
            let (from, to) = (account(), account());
            let amount = rng.between(0, MONEY * 2);
            let transfer =
                json!({ "from": from.to_string(), "to": to.to_string(), "amount": amount });
            let id = format!("move-{number}-{turn}");
            let ended = settled(clients, number, env, &id, "bank/transfer", &transfer).await;
            match ended {
                Ok(_) => moved.push((from as usize, to as usize, amount)),
                Err(refused) => assert!(refused.contains("was asked for"), "{refused}"),
            }
        }
        moved
    };
    let running = async {
        let mut running: Vec<_> = (0..CLIENTS).map(|number| Box::pin(client(number))).collect();
        futures::future::join_all(running.iter_mut().map(|each| each.as_mut())).await
    };
    let moved = kills.beside(hosts, env, running).await;
    let mut money: BTreeMap<usize, u64> = (0..ACCOUNTS).map(|number| (number, MONEY)).collect();
    let moved: Vec<_> = moved.into_iter().flatten().collect();
    // The order does not matter, because the sums are the same.
    for (from, to, amount) in &moved {
        money.insert(*to, money[to].wrapping_add(*amount));
        money.insert(*from, money[from].wrapping_sub(*amount));
    }
    Done { history: history.close(), money, transfers: moved.len() }
}

/// Checks that an order explains each register, and that every account has its expected balance.
async fn explained(done: Done, clients: &[Client], env: &Env) {
    for (number, operations) in done.history.iter().enumerate() {
        let verdict = check_by(&Register, &None, operations);
        assert!(verdict == Verdict::Linearizable, "register {number}: {verdict:?}");
    }
    assert!(done.transfers > CLIENTS, "{} transfers", done.transfers);
    let mut sum = 0;
    for (number, money) in &done.money {
        let id = format!("look-{number}");
        let target = format!("{}/balance", account(*number));
        let balance = settled(clients, *number, env, &id, &target, &Json::Null).await;
        let balance = balance.expect("it answers").as_u64().unwrap_or_default();
        assert_eq!(balance, *money, "account {number}");
        sum += balance;
    }
    assert_eq!(sum, MONEY * ACCOUNTS as u64);
    let overlaps = |one: &Operation<Asked>, all: &[Operation<Asked>]| {
        all.iter().any(|other| {
            other.called < one.called && other.answered.is_some_and(|at| at > one.called)
        })
    };
    let of = |operations: &Vec<Operation<Asked>>| {
        operations.iter().filter(|one| overlaps(one, operations)).count()
    };
    let (all, overlapping): (usize, usize) =
        (done.history.iter().map(Vec::len).sum(), done.history.iter().map(of).sum());
    eprintln!(
        "{all} operations, {overlapping} of them beside another; {} transfers",
        done.transfers
    );
    assert!(overlapping * 5 > all, "{overlapping} of {all}");
}

async fn deploy(client: &Client) {
    for (alias, component) in
        [("shelf", guests::component("shelf")), ("bank", guests::component("bank"))]
    {
        client
            .deploy(component, Some(alias))
            .await
            .unwrap_or_else(|error| panic!("{alias}: {error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_host_that_is_killed_answer_as_if_one_came_after_the_other() {
    let mut host = TestHost::start(SEGNO).await;
    deploy(host.client()).await;
    let (clients, env) = ([host.client().clone()], host.env.clone());
    let done = work(&clients, &env, std::slice::from_mut(&mut host.server)).await;
    explained(done, &clients, &env).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_three_hosts_that_are_killed_answer_as_if_one_came_after_the_other() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database().url();
    let payments = PaymentsOptions::default();
    let mut group = HostGroup::start(SEGNO, &url, 3, payments, &["--lease", "2"]).await;
    deploy(group.client(0)).await;
    let clients: Vec<Client> = group.hosts.iter().map(|host| host.client().clone()).collect();
    let env = group.env.clone();
    let done = work(&clients, &env, &mut group.hosts).await;
    explained(done, &clients, &env).await;
    for host in group.hosts {
        host.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Checks that the search reports a violation, and does not find an order for every history.
#[test]
fn a_history_that_no_order_explains_is_noticed() {
    let operation = |asked, called, answer: &str| Operation {
        asked,
        now: segno_core::time::Timestamp(0),
        called,
        answered: Some(called + 1),
        answer: Some(answer.to_owned()),
    };
    let lost = [
        operation(Asked::Add(1), 0, "1"),
        operation(Asked::Add(1), 2, "2"),
        operation(Asked::Read, 4, "1"),
    ];
    assert!(matches!(check_by(&Register, &None, &lost), Verdict::Violated(_)));
    assert_eq!(check_by(&Register, &None, &lost[..2]), Verdict::Linearizable);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_use_is_refused_by_name_and_changes_nothing() {
    let host = TestHost::start(SEGNO).await;
    deploy(host.client()).await;
    host.start_as("w", "shelf/Register@a/write_and_fail", json!(5)).await.expect("it starts");
    assert_eq!(host.ended("w").await.state, InvocationState::Rejected);
    for (id, function, said) in [
        (
            "cheat",
            "Register@a/cheat",
            "`state.clear-all` is refused in a function whose access is `shared`",
        ),
        (
            "long",
            "Register@a/long_name",
            "a name in the state of an object has 1 to 1024 bytes, and this one has 2006",
        ),
        ("large", "Register@a/large_value", "`limits.output_bytes`"),
        ("stateless", "stateless", "`state.names` is for functions of objects"),
    ] {
        host.start_as(id, &format!("shelf/{function}"), Json::Null).await.expect("it starts");
        let failed = |seen: &segno_api::model::Invocation| seen.note.is_some();
        let seen = host.until(id, "told why it failed", failed).await;
        let note = seen.note.expect("it was looked for");
        assert!(note.message.contains(said), "{id}: {}", note.message);
        host.client().kill(id).await.expect("it is ended");
    }
    host.start_as("read", "shelf/Register@a/read", Json::Null).await.expect("it starts");
    assert_eq!(host.ended("read").await.output, Some(json!(5)), "what was written stays");
    host.start_as("names", "shelf/Register@a/names", Json::Null).await.expect("it starts");
    assert_eq!(host.ended("names").await.output, Some(json!(["a", ["value"]])));
    // A wrong call by a workflow fails in the workflow.
    host.start_as("calls", "shelf/calls", json!(2_000)).await.expect("it starts");
    assert_eq!(host.ended("calls").await.output, Some(json!([404, 400])));
    for (target, said) in [
        ("shelf/Register/read", "needs a key"),
        ("shelf/stateless@a/x", "no function `stateless/x`"),
        ("shelf/Register@/read", "the key of the object is empty"),
    ] {
        let refused = host.start_as("x", target, Json::Null).await.expect_err(target).to_string();
        assert!(refused.contains(said), "{target}: {refused}");
    }
    let key = "k".repeat(10 << 20);
    let refused = host.start_as("x", &format!("shelf/Register@{key}/read"), Json::Null).await;
    let refused = refused.expect_err("the key is too long").to_string();
    assert!(refused.len() < 1_000, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_named_with_its_circle_and_ends_with_one_of_them() {
    let host = TestHost::start(SEGNO).await;
    deploy(host.client()).await;
    for (id, own, other) in [("a", "1", "2"), ("b", "2", "1")] {
        let target = format!("shelf/Register@{own}/hold_and_call");
        host.start_as(id, &target, json!(other)).await.expect("it starts");
    }
    let stuck = host.until("a", "in a circle", |seen| !seen.deadlock.is_empty()).await;
    assert_eq!(stuck.deadlock, ["a", "a/1", "b", "b/1"]);
    let waiting = host.until("a/1", "waiting for its turn", |seen| !seen.waits.is_empty()).await;
    assert_eq!((waiting.waits[0].kind, waiting.waits[0].id.as_str()), (WaitKind::Turn, "b"));
    host.client().kill("b").await.expect("it is ended");
    assert_eq!(host.ended("a").await.state, InvocationState::Resolved);
}
