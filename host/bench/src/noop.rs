//! Measures a no-op over HTTP: the cost of starting, running and answering.

use anyhow::Context as _;
use segno_api::model::{InvocationState, StartInvocation};
use segno_client::Client;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::Value as Json;
use tokio::task::JoinSet;

use super::{
    baseline::BaselineDatabase,
    context::BenchContext,
    measure::{Stopwatch, cpu_of_us},
    report::{BenchSection, Goal, percentile},
};

/// Number of concurrent clients in the second part.
const CLIENTS: u32 = 64;

pub async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    client.deploy(context.component.to_vec(), Some("bench")).await?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    let alone = context.size(400, 40);
    let crowded = context.size(200, 10);
    for _ in 0..20 {
        invoke(client).await?;
        client.health().await?;
    }

    let mut section = BenchSection::new(format!(
        "`POST /v1/invocations` that waits for its end, against a host in a process of its own: {alone} by one client, \
         in turns with the floors; then {CLIENTS} clients with {crowded} each. The client's own work is in all figures"
    ));
    let (mut p50, mut p99, mut trip, mut commit, mut floor) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut rate, mut cpu, mut crowded_p50, mut crowded_p99) = (vec![], vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        let (mut noops, mut trips, mut bare) = (vec![], vec![], vec![]);
        for _ in 0..alone {
            noops.push(invoke(client).await?);
            let stopwatch = Stopwatch::start();
            client.health().await?;
            trips.push(stopwatch.wall_us());
            bare.push(commits.commit(&[1; 100]).await?);
        }
        p50.push(percentile(&noops, 50));
        p99.push(percentile(&noops, 99));
        trip.push(percentile(&trips, 50));
        commit.push(percentile(&bare, 50));
        floor.push(percentile(&trips, 50) + percentile(&bare, 50));

        let cpu_before = cpu_of_us(server.pid())?;
        let stopwatch = Stopwatch::start();
        let latencies = crowd(client, crowded).await?;
        let count = CLIENTS * crowded;
        rate.push(stopwatch.passed().rate(count));
        cpu.push((cpu_of_us(server.pid())? - cpu_before) / f64::from(count));
        crowded_p50.push(percentile(&latencies, 50));
        crowded_p99.push(percentile(&latencies, 99));
    }
    commits.close().await?;
    server.stop().await?;

    section.measured("no-op, 1 client, p50", "µs", &p50);
    section.measured("no-op, 1 client, p99", "µs", &p99);
    section.floor("bare HTTP round trip (/health), p50", "µs", &trip);
    section.floor("bare SQLite FULL commit, p50", "µs", &commit);
    section
        .ratio("no-op p50 / (round trip + commit)", &p50, &floor)
        .goal(Goal::AtMost { must: 3.0, aim: 2.0 });
    section.measured("no-ops, 64 clients", "/s", &rate);
    section.measured("no-op, 64 clients, p50", "µs", &crowded_p50);
    section.measured("no-op, 64 clients, p99", "µs", &crowded_p99);
    section.measured("the host's CPU time of a no-op, 64 clients", "µs", &cpu);
    Ok(section)
}

async fn crowd(client: &Client, each: u32) -> anyhow::Result<Vec<f64>> {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let client = client.clone();
        clients.spawn(async move {
            let mut latencies = Vec::with_capacity(each as usize);
            for _ in 0..each {
                latencies.push(invoke(&client).await?);
            }
            anyhow::Ok(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(ended) = clients.join_next().await {
        latencies.extend(ended.context("a client panicked")??);
    }
    Ok(latencies)
}

/// Runs one no-op, from the request to its result; returns the duration in microseconds.
pub(super) async fn invoke(client: &Client) -> anyhow::Result<f64> {
    let start = StartInvocation {
        target: "bench/noop".to_owned(),
        input: Json::Null,
        wait_ms: Some(30_000),
        ..StartInvocation::default()
    };
    let stopwatch = Stopwatch::start();
    let started = client.start(&start).await?;
    let took = stopwatch.wall_us();
    anyhow::ensure!(
        started.invocation.state == InvocationState::Resolved,
        "`{}` is {:?} instead of resolved",
        started.id,
        started.invocation.state
    );
    Ok(took)
}
