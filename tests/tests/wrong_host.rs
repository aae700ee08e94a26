//! Three real hosts on one PostgreSQL. Each request (signal, promise, cancellation) goes to a host
//! other than the working one.
//!
//! Every signal is delivered exactly once and in the order of its sender, no workflow halts, and no
//! acknowledged event is delivered again. `SEGNO_SIGNALS` sets the number of signals (1,500), and
//! `SEGNO_SECONDS` the time for which hosts are killed, paused past their leases and cut off
//! meanwhile (40). `SEGNO_SEED` repeats a run's draws.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::join_all;
use segno_api::model::{
    EventQuery, InvocationOutcome, InvocationState, SendSignal, StartInvocation,
};
use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_demo::{payments::PaymentsOptions, retry::insist, rng::DemoRng};
use segno_env::Env;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tests::{guests, host_group::HostGroup, seed};
use throwaway_postgres::Cluster;
use tokio::sync::watch;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

const LEASE: Millis = Millis(2_000);
/// Maximum time for which a host may be unreachable for its clients.
const RETRY_TIMEOUT: Millis = Millis(60_000);
/// Number of concurrent workflows.
const WIDTH: usize = 24;
/// Number of senders for one workflow.
const SENDERS: usize = 2;
const EACH: usize = 12;
/// Number of signals in one round.
const ROUND: usize = WIDTH * SENDERS * EACH;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_to_the_wrong_host_is_told_once_and_in_order() {
    let signals = seed::number("SEGNO_SIGNALS").unwrap_or(1_500) as usize;
    let Some(cluster) = Cluster::start(&[]) else { return };
    let mut chance = seed::chance();
    let fixture = Fixture::new(&cluster).await;
    let (done, ended) = watch::channel(false);
    let sending = async {
        for round in 0..signals.div_ceil(ROUND) {
            fixture.round(round, &mut chance).await;
        }
        done.send_replace(true);
    };
    let ((), events) = tokio::join!(sending, fixture.read_events(ended));
    fixture.judge(&events, signals.div_ceil(ROUND)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_while_hosts_die_and_sleep_is_told_once_and_in_order() {
    let seconds = seed::number("SEGNO_SECONDS").unwrap_or(40);
    let Some(cluster) = Cluster::start(&[]) else { return };
    let mut chance = seed::chance();
    let mut fixture = Fixture::new(&cluster).await;
    let mut fault_rng = DemoRng::new(chance.between(0, 1_000_000));
    let (done, ended) = watch::channel(false);
    let mut hosts = std::mem::take(&mut fixture.group.hosts);
    let until = fixture.env.clock.now() + Millis::seconds(seconds.cast_signed());
    let sending = async {
        let mut rounds = 0;
        while rounds == 0 || fixture.env.clock.now() < until {
            fixture.round(rounds, &mut chance).await;
            rounds += 1;
        }
        done.send_replace(true);
        rounds
    };
    let mut injected = BTreeMap::<&str, usize>::new();
    let injecting = async {
        while !*ended.borrow() {
            fixture.sleep(fault_rng.length(200, 1_500)).await;
            let victim = fault_rng.between(0, 2) as usize;
            let fault = ["kill", "pause", "restart", "drop"][fault_rng.between(0, 3) as usize];
            *injected.entry(fault).or_default() += 1;
            match fault {
                "kill" => {
                    hosts[victim].kill().expect("a kill");
                    fixture.sleep(fault_rng.length(100, 2 * LEASE.0.unsigned_abs())).await;
                    hosts[victim].restart().await.expect("a start");
                }
                "restart" => {
                    hosts[victim].kill().expect("a kill");
                    hosts[victim].restart().await.expect("a start");
                }
                "pause" => {
                    hosts[victim].pause().expect("a pause");
                    fixture.sleep(LEASE + fault_rng.length(200, 2_000)).await;
                    hosts[victim].resume().expect("a resume");
                }
                _ => drop_connections(&fixture.url).await,
            }
        }
    };
    let (rounds, (), events) = tokio::join!(sending, injecting, fixture.read_events(ended.clone()));
    eprintln!("{rounds} rounds of {ROUND} signals, {injected:?}");
    fixture.group.hosts = hosts;
    fixture.judge(&events, rounds).await;
}

/// Ends every second connection of all hosts.
async fn drop_connections(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the database answers");
    let drop = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE application_name LIKE 'segno %' AND pid % 2 = 0";
    sqlx::query(drop).execute(&mut connection).await.expect("they end");
}

struct Fixture {
    group: HostGroup,
    clients: Vec<Client>,
    env: Env,
    url: String,
}

impl Fixture {
    async fn new(cluster: &Cluster) -> Self {
        let url = cluster.database().url();
        let payments = PaymentsOptions::default();
        let group = HostGroup::start(SEGNO, &url, 3, payments, &["--lease", "2"]).await;
        group.deploy("herald", guests::component("herald")).await;
        let clients = group.hosts.iter().map(|host| host.client().clone()).collect();
        let env = group.env.clone();
        Self { group, clients, env, url }
    }

    async fn sleep(&self, length: Millis) {
        self.env.runtime.sleep(length).await;
    }

    async fn insist<T>(&self, request: impl AsyncFnMut() -> Result<T, ClientError>) -> T {
        let answer = insist(&self.env, RETRY_TIMEOUT, request).await;
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs workflows that receive all their signals. Every eighth is cancelled midway.
    async fn round(&self, round: usize, chance: &mut DemoRng) {
        let flows = (0..WIDTH).map(|number| {
            let cancelled = number % 8 == 7;
            let pause = chance.length(0, 30);
            self.flow(format!("relay-{round}-{number}"), number, cancelled, pause)
        });
        join_all(flows.collect::<Vec<_>>()).await;
    }

    async fn flow(&self, id: String, number: usize, cancelled: bool, pause: Millis) {
        let start = StartInvocation {
            id: Some(id.clone()),
            target: "herald/relay".into(),
            input: json!(SENDERS * EACH),
            ..StartInvocation::default()
        };
        self.insist(async || self.clients[number % 3].start(&start).await).await;
        let senders = (0..SENDERS).map(|sender| self.send(&id, number, sender, pause));
        let cancel = async {
            if cancelled {
                self.sleep(Millis(pause.0 * 4)).await;
                self.insist(async || self.clients[(number + 2) % 3].cancel(&id).await).await;
            } else {
                // The promise may be settled before the workflow awaits it.
                self.resolve(&id, number).await;
            }
        };
        tokio::join!(join_all(senders), cancel);
        let outcome = self.ended(&id, number).await;
        if cancelled {
            let states = [InvocationState::Cancelled, InvocationState::Rejected];
            let is_over = states.contains(&outcome.state) || outcome.output.is_some();
            assert!(is_over, "{id}: {outcome:?}");
            return;
        }
        assert_eq!(outcome.state, InvocationState::Resolved, "{id}: {outcome:?}");
        let output = outcome.output.unwrap_or_default();
        let heard: Vec<&str> =
            output.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(heard.len(), SENDERS * EACH, "{id}: {heard:?}");
        for sender in 0..SENDERS {
            let prefix = format!("{sender}:");
            let of_one: Vec<&&str> =
                heard.iter().filter(|text| text.starts_with(&prefix)).collect();
            let sent: Vec<String> = (0..EACH).map(|nth| format!("{sender}:{nth}")).collect();
            assert_eq!(of_one, sent.iter().collect::<Vec<_>>(), "{id}: {heard:?}");
        }
    }

    /// Sends signals one after the other, each at another host.
    async fn send(&self, id: &str, number: usize, sender: usize, pause: Millis) {
        for nth in 0..EACH {
            let text = format!("{sender}:{nth}");
            let signal = SendSignal {
                name: "text".into(),
                payload: json!(text),
                key: Some(text.clone()),
                start: None,
            };
            let client = &self.clients[(number + 1 + sender + nth) % 3];
            let sent = async || client.signal(id, &signal).await;
            match insist(&self.env, RETRY_TIMEOUT, sent).await {
                Ok(_) => {}
                // The workflow was cancelled.
                Err(ClientError::Refused(problem)) if problem.status == 409 => return,
                Err(error) => panic!("{id}: {error}"),
            }
            self.sleep(pause).await;
        }
    }

    async fn resolve(&self, id: &str, number: usize) {
        let promise = format!("{id}/p/done");
        for _ in 0..3_000 {
            let client = &self.clients[(number + 2) % 3];
            let resolved = async || client.resolve(&promise, json!(number)).await;
            match insist(&self.env, RETRY_TIMEOUT, resolved).await {
                Ok(_) => return,
                Err(ClientError::Refused(problem)) if problem.status == 404 => {}
                Err(error) => panic!("{promise}: {error}"),
            }
            self.sleep(Millis(20)).await;
        }
        panic!("{promise} was never made");
    }

    async fn ended(&self, id: &str, number: usize) -> InvocationOutcome {
        for turn in 0..60 {
            let client = &self.clients[(number + turn) % 3];
            let wait = async || client.wait(id, Duration::from_secs(5)).await;
            let outcome = self.insist(wait).await;
            assert_ne!(outcome.state, InvocationState::Halted, "{id}: {outcome:?}");
            if outcome.state.is_settled() {
                return outcome;
            }
        }
        panic!("{id} does not end");
    }

    /// Reads and acknowledges events until all are sent and none is left. Returns the ids of the
    /// acknowledged events.
    async fn read_events(&self, ended: watch::Receiver<bool>) -> BTreeSet<String> {
        let mut acknowledged = BTreeSet::new();
        let query = EventQuery { topic: None, cursor: None, limit: Some(200), wait_ms: Some(300) };
        for turn in 0_usize.. {
            let is_over = *ended.borrow();
            let page =
                self.insist(async || self.clients[turn % 3].events(&query).await).await.events;
            let ids: Vec<String> = page.iter().map(|event| event.id.clone()).collect();
            let again: Vec<_> = ids.iter().filter(|id| acknowledged.contains(*id)).collect();
            assert!(again.is_empty(), "these were acknowledged before: {again:?}");
            if ids.is_empty() {
                if is_over {
                    break;
                }
                continue;
            }
            let reader = &self.clients[(turn + 1) % 3];
            self.insist(async || reader.acknowledge(ids.clone()).await).await;
            acknowledged.extend(ids);
        }
        acknowledged
    }

    /// Checks the invariants at the end.
    async fn judge(self, events: &BTreeSet<String>, rounds: usize) {
        let mut connection = PgConnection::connect(&self.url).await.expect("the database answers");
        let halted = "SELECT count(*) FROM tasks WHERE state = 4";
        let halted: i64 =
            sqlx::query_scalar(halted).fetch_one(&mut connection).await.expect("a count");
        assert_eq!(halted, 0, "workflows halted");
        let published = "SELECT count(*) FROM promises WHERE id ~ '/s/[0-9]+$' AND state = 1";
        let signals: i64 =
            sqlx::query_scalar(published).fetch_one(&mut connection).await.expect("a count");
        for round in 0..rounds {
            for number in (0..WIDTH).filter(|number| number % 8 != 7) {
                let prefix = format!("relay-{round}-{number}/");
                let of_one = events.range(prefix.clone()..);
                let count = of_one.take_while(|id| id.starts_with(&prefix)).count();
                assert_eq!(count, SENDERS * EACH, "events of {prefix}");
            }
        }
        eprintln!("{signals} signals, {} events", events.len());
        for host in self.group.hosts {
            host.stop().await.unwrap_or_else(|error| panic!("{error}"));
        }
        let said = std::process::Command::new(SEGNO)
            .args(["doctor", "--store", &self.url])
            .output()
            .expect("the doctor comes");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    }
}
