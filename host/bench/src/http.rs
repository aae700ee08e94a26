//! Measures invocations over HTTP, against a host in a process of its own: the time from a request
//! to its result, the rate with many clients, and the host's CPU time.

use anyhow::Context as _;
use segno_api::model::{InvocationState, StartInvocation};
use segno_client::Client;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{
    baseline::BaselineDatabase,
    context::BenchContext,
    measure::{Stopwatch, cpu_of_us},
    report::{BenchSection, Goal, percentile},
};

/// Number of concurrent clients in the second part.
pub(super) const CLIENTS: u32 = 64;
/// Number of concurrent clients of the largest crowd.
const CLIENTS_MAX: u32 = 1_000;
/// Number of steps or calls of a long workflow.
pub(super) const LONG: u32 = 1_000;

/// A workflow and its input.
pub(super) struct Workload {
    pub name: &'static str,
    function: &'static str,
    input: fn(u32) -> Json,
    /// Number of steps or calls.
    pub size: u32,
}

pub(super) const NOOP: Workload =
    Workload { name: "no-op", function: "noop", input: |_| Json::Null, size: 0 };
pub(super) const STEPS: Workload =
    Workload { name: "3 `run` steps", function: "steps", input: steps, size: 3 };
const CALLS: Workload = Workload { name: "3 activities", function: "chain", input: calls, size: 3 };

fn steps(count: u32) -> Json {
    json!({ "steps": count, "result_bytes": 22 })
}

fn calls(count: u32) -> Json {
    json!({ "children": count })
}

impl Workload {
    /// The start of an invocation with this number of steps or calls.
    pub(super) fn start(&self, size: u32) -> StartInvocation {
        StartInvocation {
            target: format!("bench/{}", self.function),
            input: (self.input)(size),
            wait_ms: Some(60_000),
            ..StartInvocation::default()
        }
    }
}

/// Measurements of a workload, one value per repetition.
#[derive(Default)]
pub(super) struct WorkloadFigures {
    /// Latency for one client, in microseconds.
    pub p50: Vec<f64>,
    pub p99: Vec<f64>,
    /// With many clients.
    pub crowd: CrowdFigures,
}

/// Measurements of many concurrent clients, one value per repetition.
#[derive(Default)]
pub(super) struct CrowdFigures {
    /// Invocations per second.
    pub rate: Vec<f64>,
    /// CPU time of the host for an invocation, in microseconds.
    pub cpu: Vec<f64>,
    /// Latency for each client, in microseconds.
    p50: Vec<f64>,
    p99: Vec<f64>,
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    client.deploy(context.component.to_vec(), Some("bench")).await?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    let alone = context.size(400, 40);
    let crowded = context.size(400, 10);
    let (clients_max, most) = context.size((CLIENTS_MAX, 30), (2 * CLIENTS, 1));
    let long = context.size(LONG, 20);
    let workloads = [NOOP, STEPS, CALLS];
    for workload in &workloads {
        for _ in 0..20 {
            invoke(client, &workload.start(workload.size)).await?;
        }
    }

    let mut section = BenchSection::new(format!(
        "`POST /v1/invocations` that waits for its end, against a host in a process of its own: {alone} by one client, \
         in turns with the floors; then {CLIENTS} clients with {crowded} each; then {clients_max} clients with {most} \
         no-ops each; then one workflow of {long} steps, and one of {long} activities, one after the other. The client's \
         own work is in all figures but CPU time"
    ));
    let mut figures = workloads.each_ref().map(|_| WorkloadFigures::default());
    let mut largest = CrowdFigures::default();
    let (mut trip, mut commit, mut floor) = (vec![], vec![], vec![]);
    let (mut long_steps, mut long_calls) = (vec![], vec![]);
    for _ in 0..context.repetitions {
        let (mut trips, mut bare) = (vec![], vec![]);
        for (workload, figures) in workloads.iter().zip(&mut figures) {
            let start = workload.start(workload.size);
            let mut latencies = vec![];
            for _ in 0..alone {
                latencies.push(invoke(client, &start).await?);
                let stopwatch = Stopwatch::start();
                client.health().await?;
                trips.push(stopwatch.wall_us());
                bare.push(commits.commit(&[1; 100]).await?);
            }
            figures.alone(&latencies);
            figures.crowd.measure(&server, &start, CLIENTS, crowded).await?;
        }
        largest.measure(&server, &noop(), clients_max, most).await?;
        trip.push(percentile(&trips, 50));
        commit.push(percentile(&bare, 50));
        floor.push(percentile(&trips, 50) + percentile(&bare, 50));
        long_steps.push(invoke(client, &STEPS.start(long)).await? / f64::from(long));
        long_calls.push(invoke(client, &CALLS.start(long)).await? / f64::from(long));
    }
    commits.close().await?;
    server.stop().await?;

    section.floor("bare HTTP round trip (/health), p50", "µs", &trip);
    section.floor("bare SQLite FULL commit, p50", "µs", &commit);
    for (workload, figures) in workloads.iter().zip(&figures) {
        let name = workload.name;
        section.measured(format!("{name}, 1 client, p50"), "µs", &figures.p50);
        section.measured(format!("{name}, 1 client, p99"), "µs", &figures.p99);
        figures.crowd.report(&mut section, name, CLIENTS);
    }
    largest.report(&mut section, NOOP.name, clients_max);
    section
        .ratio("no-op p50 / (round trip + commit)", &figures[0].p50, &floor)
        .goal(Goal::AtMost { must: 3.0, aim: 2.0 });
    section.measured(format!("a `run` step of {long} in a row"), "µs", &long_steps);
    section.measured(format!("an activity of {long} in a row"), "µs", &long_calls);
    section.ratio("an activity in a row / bare SQLite FULL commit", &long_calls, &commit);
    Ok(section)
}

impl WorkloadFigures {
    /// Records the latencies of one client.
    pub(super) fn alone(&mut self, latencies: &[f64]) {
        self.p50.push(percentile(latencies, 50));
        self.p99.push(percentile(latencies, 99));
    }
}

impl CrowdFigures {
    /// Measures this start by many clients, `each` times by each of them.
    pub(super) async fn measure(
        &mut self,
        server: &DemoServer,
        start: &StartInvocation,
        clients: u32,
        each: u32,
    ) -> anyhow::Result<()> {
        let cpu_before = cpu_of_us(server.pid())?;
        let stopwatch = Stopwatch::start();
        let latencies = crowd(server.client(), start, clients, each).await?;
        let count = clients * each;
        self.rate.push(stopwatch.passed().rate(count));
        self.cpu.push((cpu_of_us(server.pid())? - cpu_before) / f64::from(count));
        self.p50.push(percentile(&latencies, 50));
        self.p99.push(percentile(&latencies, 99));
        Ok(())
    }

    fn report(&self, section: &mut BenchSection, name: &str, clients: u32) {
        section.measured(format!("{name}, {clients} clients"), "/s", &self.rate);
        section.measured(format!("{name}, {clients} clients, p50"), "µs", &self.p50);
        section.measured(format!("{name}, {clients} clients, p99"), "µs", &self.p99);
        let cpu = format!("{name}, {clients} clients, CPU time of the host");
        section.measured(cpu, "µs", &self.cpu);
    }
}

/// Latencies in microseconds of this start by `clients` at once, `each` times by each of them.
pub(super) async fn crowd(
    client: &Client,
    start: &StartInvocation,
    clients: u32,
    each: u32,
) -> anyhow::Result<Vec<f64>> {
    let mut running = JoinSet::new();
    for _ in 0..clients {
        let (client, start) = (client.clone(), start.clone());
        running.spawn(async move {
            let mut latencies = Vec::with_capacity(each as usize);
            for _ in 0..each {
                latencies.push(invoke(&client, &start).await?);
            }
            anyhow::Ok(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(ended) = running.join_next().await {
        latencies.extend(ended.context("a client panicked")??);
    }
    Ok(latencies)
}

/// The start of an invocation that does nothing.
pub(super) fn noop() -> StartInvocation {
    NOOP.start(NOOP.size)
}

/// Runs one invocation, from the request to its result; returns the duration in microseconds.
pub(super) async fn invoke(client: &Client, start: &StartInvocation) -> anyhow::Result<f64> {
    let stopwatch = Stopwatch::start();
    let started = client.start(start).await?;
    let took = stopwatch.wall_us();
    anyhow::ensure!(
        started.invocation.state == InvocationState::Resolved,
        "`{}` is {:?} instead of resolved",
        started.id,
        started.invocation.state
    );
    Ok(took)
}
