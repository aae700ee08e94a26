//! Limits on real hosts. Whatever crashes, the number of running executions and the rate of starts
//! stay within their limits, and the counters are 0 in the end.
//!
//! `SEGNO_JOBS` sets the number of executions that are counted (60).

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use futures::future::join_all;
use segno_api::model::{
    Invocation, InvocationQuery, InvocationState, InvocationSummary, ReplayVerdict, StartInvocation,
};
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::{payments::PaymentsOptions, server::DemoServer};
use segno_env::Env;
use serde_json::{Value as Json, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tests::{guests, host_group::HostGroup, kills::Kills, seed, test_host::TestHost};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Three customers, so that both limits of `job` cause waits: 2 per customer, 4 in total.
const CUSTOMERS: [&str; 3] = ["ada", "bob", "cleo"];
const OF_CUSTOMER: usize = 2;
const IN_ALL: usize = 4;
/// Executions of `mail`, of which a burst of 4 may begin immediately, and 8 per second.
const MAILS: usize = 30;
const BURST: i64 = 4;
const IN_A_SECOND: i64 = 8;

/// Duration of an execution.
const TAKES: Millis = Millis(150);
/// Duration of the first executions of `job`. They are started together and run long enough to be
/// at their limit at once, however slow the machine is.
const LONG: Millis = Millis(4_000);
const LONG_JOBS: usize = 2 * CUSTOMERS.len();
/// Maximum clock difference between hosts and database on one machine.
const SKEW: Millis = Millis(100);

/// Starts an execution of a function under an id that names its customer and its number, at any
/// host that is up.
async fn start(clients: &[Client], env: &Env, function: &str, number: usize) {
    let customer = CUSTOMERS[number % CUSTOMERS.len()];
    let id = &format!("{function}-{customer}-{number}");
    let takes = if function == "job" && number < LONG_JOBS { LONG } else { TAKES };
    let request = StartInvocation {
        id: Some(id.to_owned()),
        target: format!("narrow/{function}"),
        input: json!({ "customer": customer, "takes_ms": takes.0 }),
        ..StartInvocation::default()
    };
    for attempt in 0..400 {
        if clients[(number + attempt) % clients.len()].start(&request).await.is_ok() {
            return;
        }
        env.runtime.sleep(Millis(50)).await;
    }
    panic!("no host has started `{id}`")
}

/// Number of running executions, by customer.
fn running(seen: &[InvocationSummary]) -> BTreeMap<String, usize> {
    let mut running = BTreeMap::new();
    for one in seen.iter().filter(|one| one.journal_len > 0 && !one.state.is_settled()) {
        *running.entry(customer(&one.id).to_owned()).or_default() += 1;
    }
    running
}

fn customer(id: &str) -> &str {
    id.split('-').nth(1).expect("ids name their customer")
}

/// Reads the executions of a function repeatedly until all have ended. Returns them, and the
/// maximum number seen running. Checks the limits of `job` at each read.
async fn watched(
    clients: &[Client],
    env: &Env,
    function: &str,
    number: usize,
) -> (Vec<InvocationSummary>, usize) {
    let query = InvocationQuery {
        function: Some(function.to_owned()),
        limit: Some(1_000),
        ..InvocationQuery::default()
    };
    let give_up_at = env.clock.now() + Millis(120_000);
    let mut most = 0;
    for host in (0..clients.len()).cycle() {
        if let Ok(page) = clients[host].list(&query).await {
            let running = running(&page.items);
            let in_all = running.values().sum();
            if function == "job" {
                assert!(running.values().all(|number| *number <= OF_CUSTOMER), "{running:?}");
                assert!(in_all <= IN_ALL, "{running:?}");
            }
            most = most.max(in_all);
            let ended = page.items.iter().filter(|one| one.state.is_settled()).count();
            if ended == number {
                return (page.items, most);
            }
            assert!(env.clock.now() < give_up_at, "{ended} of {number} have ended: {running:?}");
        }
        env.runtime.sleep(Millis(10)).await;
    }
    unreachable!("hosts are asked until the test ends")
}

/// Time from the first record to the end of an execution.
#[derive(Debug)]
struct Span {
    id: String,
    began: i64,
    ended: i64,
}

async fn spans(client: &Client, ended: &[InvocationSummary]) -> Vec<Span> {
    let mut spans = Vec::new();
    for one in ended {
        assert_eq!(one.state, InvocationState::Resolved, "{one:?}");
        let journal = client.journal(&one.id, 0, 1).await.expect("a journal");
        let began = journal.records[0].at_ms;
        spans.push(Span { id: one.id.clone(), began, ended: one.settled_at_ms.expect("its end") });
    }
    spans.sort_by_key(|span| span.began);
    spans
}

/// Maximum number of executions that were running at the same time.
fn most_at_once<'a>(spans: impl Iterator<Item = &'a Span> + Clone) -> usize {
    let at = |instant: i64| {
        spans.clone().filter(|span| (span.began + SKEW.0..span.ended).contains(&instant)).count()
    };
    spans.clone().map(|span| at(span.began + SKEW.0)).max().unwrap_or_default()
}

/// Runs executions of both functions while hosts are killed.
async fn work(clients: &[Client], env: &Env, hosts: &mut [DemoServer]) {
    clients[0].deploy(guests::component("narrow"), Some("narrow")).await.expect("a module");
    let jobs = seed::number("SEGNO_JOBS").map_or(60, |jobs| jobs as usize);
    let kills = Kills::of(5);
    let began = env.clock.now();
    let starting = async {
        let most = jobs.max(MAILS);
        join_all((0..LONG_JOBS.min(jobs)).map(|number| start(clients, env, "job", number))).await;
        for number in 0..most {
            kills.before(number, most, env).await;
            if number < MAILS {
                start(clients, env, "mail", number).await;
            }
            if (LONG_JOBS..jobs).contains(&number) {
                start(clients, env, "job", number).await;
            }
        }
    };
    let all = async {
        let jobs = watched(clients, env, "job", jobs);
        let mails = watched(clients, env, "mail", MAILS);
        let ((), jobs, mails) = tokio::join!(starting, jobs, mails);
        (jobs, mails)
    };
    let ((jobs, seen), (mails, _)) = kills.beside(hosts, env, all).await;
    let took = env.clock.now().0 - began.0;

    let spans_of_jobs = spans(&clients[0], &jobs).await;
    let most = most_at_once(spans_of_jobs.iter());
    assert!(most <= IN_ALL, "{spans_of_jobs:#?}");
    for each in CUSTOMERS {
        let own = spans_of_jobs.iter().filter(|span| customer(&span.id) == each);
        assert!(most_at_once(own) <= OF_CUSTOMER, "{each}: {spans_of_jobs:#?}");
    }
    // Other executions wait all the time, so a token that a crash duplicated would be used
    // immediately.
    let spans_of_mails = spans(&clients[0], &mails).await;
    let first = mails.iter().map(|mail| mail.created_at_ms).min().expect("there are some");
    for (number, span) in (1..).zip(&spans_of_mails) {
        let came = (span.began + SKEW.0 - first) * IN_A_SECOND / 1_000;
        assert!(number <= BURST + came, "{number} by {span:?}: {spans_of_mails:#?}");
    }
    eprintln!("{took} ms; {seen} at once were seen, and there were {most}");
    assert!(seen > OF_CUSTOMER && most > OF_CUSTOMER, "{seen}, {most}");
    for id in ["job-ada-0", "mail-bob-1"] {
        let replay = clients[0].replay(id, None).await.expect("it is replayed");
        assert_eq!(replay.verdict, ReplayVerdict::Identical, "{replay:?}");
    }
}

/// Location of the rows.
enum Database {
    File(PathBuf),
    Server(String),
}

impl Database {
    /// Checks that no execution is counted or waiting, and that no message is left.
    async fn is_quiet(&self, env: &Env) {
        for (what, count) in [
            ("limits", "SELECT count(*) FROM limits WHERE running + waiting > 0"),
            ("keys", "SELECT count(*) FROM partitions WHERE running > 0"),
            ("places", "SELECT count(*) FROM places WHERE state <> 3"),
            ("messages", "SELECT count(*) FROM outbox WHERE kind = 5"),
        ] {
            let mut left = 0;
            for _ in 0..200 {
                left = self.number(count).await;
                if left == 0 {
                    break;
                }
                env.runtime.sleep(Millis(50)).await;
            }
            assert_eq!(left, 0, "{what}");
        }
    }

    async fn number(&self, statement: &'static str) -> i64 {
        let found = match self {
            Self::File(path) => {
                let path = path.to_string_lossy();
                let mut connection = SqliteConnection::connect(&path).await.expect("it opens");
                sqlx::query_scalar(statement).fetch_one(&mut connection).await
            }
            Self::Server(url) => {
                let mut connection = PgConnection::connect(url).await.expect("it answers");
                sqlx::query_scalar(statement).fetch_one(&mut connection).await
            }
        };
        found.expect("a number")
    }
}

fn doctor_finds_nothing(store: &str) {
    let doctor = Command::new(SEGNO).args(["doctor", "--store", store]).output();
    let said = doctor.expect("the command runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_host_that_is_killed_are_kept() {
    let mut host = TestHost::start(SEGNO).await;
    let (clients, env) = ([host.client().clone()], host.env.clone());
    work(&clients, &env, std::slice::from_mut(&mut host.server)).await;
    let data = host.server.options().data.clone();
    Database::File(data.join("segno.db")).is_quiet(&env).await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    doctor_finds_nothing(&data.display().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_three_hosts_that_are_killed_are_kept() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = cluster.database().url();
    let payments = PaymentsOptions::default();
    let mut group = HostGroup::start(SEGNO, &url, 3, payments, &["--lease", "2"]).await;
    let clients: Vec<Client> = group.hosts.iter().map(|host| host.client().clone()).collect();
    let env = group.env.clone();
    work(&clients, &env, &mut group.hosts).await;
    Database::Server(url.clone()).is_quiet(&env).await;
    for host in group.hosts {
        host.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
    doctor_finds_nothing(&url);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_begins_when_a_module_with_a_higher_limit_is_deployed() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("rooms", guests::component("narrow")).await;
    let ids = ["first", "second", "third", "fourth"];
    for id in ids {
        host.start_as(id, "rooms/stays", Json::Null).await.expect("it starts");
    }
    let stays = |seen: &Invocation| !seen.waits.is_empty();
    host.until("first", "there", stays).await;
    for id in &ids[1..] {
        let waits = host.client().invocation(id).await.expect("it is there");
        assert_eq!((waits.state, waits.journal_len), (InvocationState::Suspended, 0), "{id}");
    }
    host.deploy("rooms", guests::component("wide")).await;
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    for id in &ids[..3] {
        host.until(id, "there", stays).await;
    }
    let waits = host.client().invocation("fourth").await.expect("it is there");
    assert_eq!((waits.state, waits.journal_len), (InvocationState::Suspended, 0));
    for id in ids {
        host.until(id, "there", stays).await;
        host.client().resolve(&format!("{id}/p/go"), Json::Null).await.expect("it is awaited");
        assert_eq!(host.ended(id).await.state, InvocationState::Resolved);
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
