//! Runs endlessly computing guests next to no-ops, and measures the delay of the no-ops.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use segno_api::model::StartInvocation;
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_guest::COMPUTING;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    http::{invoke, noop},
    measure::{Stopwatch, cpu_of_threads_us},
    report::{BenchSection, Goal, percentile},
};

/// Number of host calls by a computing guest: this takes some tenths of a second, then the guest is
/// started again.
const CROSSINGS: u32 = 3_000_000;
/// Time until all guests are computing.
const BEGIN: Millis = Millis(200);
/// Number of concurrently computing guests in the second part.
const CROWD: u32 = 8;
/// Goal for the latency that the guests add to the p99 of no-ops, in milliseconds.
const LATE: Goal = Goal::AtMost { must: 5.0, aim: 3.0 };
/// Goal for the number of processors that the guests get nevertheless.
const WORK: Goal = Goal::AtLeast { must: 0.1, aim: 0.5 };

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    client.deploy(context.component.to_vec(), Some("bench")).await?;
    for _ in 0..20 {
        invoke(client, &noop()).await?;
    }
    let noops = context.size(2_000, 20);
    let (mut alone_50, mut alone_99) = (vec![], vec![]);
    let (mut one, mut crowd) = (NoopLatencies::default(), NoopLatencies::default());
    for _ in 0..context.repetitions {
        let alone = latencies(client, noops).await?;
        let (p50, p99) = (percentile(&alone, 50), percentile(&alone, 99));
        alone_50.push(p50);
        alone_99.push(p99);
        one.measure(context, &server, 1, noops, p99).await?;
        crowd.measure(context, &server, CROWD, noops, p99).await?;
    }
    server.stop().await?;

    let mut section = BenchSection::new(format!(
        "{noops} no-ops over HTTP by one client: on a host with nothing else to do, next to one guest that computes all the time, and next to {CROWD} of them. The client and the guests share the machine's processors"
    ));
    section.floor("no-op alone, p50", "µs", &alone_50);
    section.floor("no-op alone, p99", "µs", &alone_99);
    section.measured("no-op next to one that computes, p50", "µs", &one.p50);
    section.measured("no-op next to one that computes, p99", "µs", &one.p99);
    section.measured("what one that computes adds to the p99", "ms", &one.late).goal(LATE);
    section.measured("processors that it computed on meanwhile", "", &one.processors).goal(WORK);
    section.measured(format!("no-op next to {CROWD} that compute, p50"), "µs", &crowd.p50);
    section.measured(format!("no-op next to {CROWD} that compute, p99"), "µs", &crowd.p99);
    section
        .measured(format!("what {CROWD} that compute add to the p99"), "ms", &crowd.late)
        .goal(LATE);
    section
        .measured("processors that they computed on meanwhile", "", &crowd.processors)
        .goal(WORK);
    Ok(section)
}

/// Measurements of no-ops next to computing guests, one value per repetition.
#[derive(Default)]
struct NoopLatencies {
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// Latency that the guests add to the p99, in milliseconds.
    late: Vec<f64>,
    /// Number of processors that the guests use.
    processors: Vec<f64>,
}

impl NoopLatencies {
    async fn measure(
        &mut self,
        context: &BenchContext,
        server: &DemoServer,
        busy: u32,
        noops: u32,
        alone_p99: f64,
    ) -> anyhow::Result<()> {
        let (latencies, processors) = beside(context, server, busy, noops).await?;
        let p99 = percentile(&latencies, 99);
        self.p50.push(percentile(&latencies, 50));
        self.p99.push(p99);
        self.late.push((p99 - alone_p99).max(0.0) / 1e3);
        self.processors.push(processors);
        Ok(())
    }
}

async fn latencies(client: &Client, count: u32) -> anyhow::Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(count as usize);
    for _ in 0..count {
        latencies.push(invoke(client, &noop()).await?);
    }
    Ok(latencies)
}

/// Latencies while `busy` guests compute, and the number of processors these use.
async fn beside(
    context: &BenchContext,
    server: &DemoServer,
    busy: u32,
    count: u32,
) -> anyhow::Result<(Vec<f64>, f64)> {
    let client = server.client();
    let enough = Arc::new(AtomicBool::new(false));
    let mut computing = JoinSet::new();
    for _ in 0..busy {
        let (client, enough) = (client.clone(), enough.clone());
        computing.spawn(async move {
            while !enough.load(Ordering::Relaxed) {
                let start = StartInvocation {
                    target: "bench/crossings".to_owned(),
                    input: json!(CROSSINGS),
                    wait_ms: Some(30_000),
                    ..StartInvocation::default()
                };
                client.start(&start).await?;
            }
            anyhow::Ok(())
        });
    }
    context.env.runtime.sleep(BEGIN).await;
    let computed_us = cpu_of_threads_us(server.pid(), COMPUTING)?;
    let stopwatch = Stopwatch::start();
    let measured = latencies(client, count).await;
    let computed_us = cpu_of_threads_us(server.pid(), COMPUTING)? - computed_us;
    let processors = computed_us / stopwatch.wall_us();
    enough.store(true, Ordering::Relaxed);
    while let Some(ended) = computing.join_next().await {
        ended.context("a client panicked")??;
    }
    Ok((measured?, processors))
}
