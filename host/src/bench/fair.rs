//! Guests that compute without end beside others that do nothing: how long the others wait for them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context as _;
use segno_core::time::Millis;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    noop::invoke,
    report::{Goal, Section, percentile},
    setting::Setting,
};
use crate::{
    api::model::StartInvocation,
    client::Client,
    demo::server::{Server, ServerOptions},
};

/// Calls of the host by a guest that computes: some tenths of a second, and it is started again.
const CROSSINGS: u32 = 3_000_000;
/// By then they compute.
const BEGIN: Millis = Millis(200);
/// Guests that compute at once in the second part.
const CROWD: u32 = 8;

pub async fn run(setting: &Setting) -> anyhow::Result<Section> {
    let place = setting.place()?;
    let options = ServerOptions::within(place.path(), &setting.binary)?;
    let server = Server::start(options, setting.surroundings.clone()).await?;
    let client = server.client();
    client.deploy(setting.component.to_vec(), Some("bench")).await?;
    for _ in 0..20 {
        invoke(client).await?;
    }
    let noops = setting.size(400, 40);
    let (mut alone_50, mut alone_99) = (vec![], vec![]);
    let (mut one_50, mut one_99, mut one_late) = (vec![], vec![], vec![]);
    let (mut crowd_50, mut crowd_99, mut crowd_late) = (vec![], vec![], vec![]);
    for _ in 0..setting.repetitions {
        let alone = latencies(client, noops).await?;
        let (p50, p99) = (percentile(&alone, 50), percentile(&alone, 99));
        alone_50.push(p50);
        alone_99.push(p99);
        let beside = beside(setting, client, 1, noops).await?;
        one_50.push(percentile(&beside, 50));
        one_99.push(percentile(&beside, 99));
        one_late.push((percentile(&beside, 99) - p99).max(0.0) / 1e3);
        let beside = self::beside(setting, client, CROWD, noops).await?;
        crowd_50.push(percentile(&beside, 50));
        crowd_99.push(percentile(&beside, 99));
        crowd_late.push((percentile(&beside, 99) - p99).max(0.0) / 1e3);
    }
    server.stop().await?;

    let mut section = Section::new(format!(
        "{noops} no-ops over HTTP by one client: on a host with nothing else to do, beside one guest that computes all \
         the time, and beside {CROWD} of them. The client and the guests share the machine's processors"
    ));
    section.floor("no-op alone, p50", "µs", &alone_50);
    section.floor("no-op alone, p99", "µs", &alone_99);
    section.measured("no-op beside one that computes, p50", "µs", &one_50);
    section.measured("no-op beside one that computes, p99", "µs", &one_99);
    section
        .measured("what one that computes adds to the p99", "ms", &one_late)
        .goal(Goal::AtMost { must: 5.0, aim: 3.0 });
    section.measured(format!("no-op beside {CROWD} that compute, p50"), "µs", &crowd_50);
    section.measured(format!("no-op beside {CROWD} that compute, p99"), "µs", &crowd_99);
    section
        .measured(format!("what {CROWD} that compute add to the p99"), "ms", &crowd_late)
        .goal(Goal::AtMost { must: 20.0, aim: 5.0 });
    Ok(section)
}

async fn latencies(client: &Client, count: u32) -> anyhow::Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(count as usize);
    for _ in 0..count {
        latencies.push(invoke(client).await?);
    }
    Ok(latencies)
}

/// Latencies while `busy` guests compute.
async fn beside(
    setting: &Setting,
    client: &Client,
    busy: u32,
    count: u32,
) -> anyhow::Result<Vec<f64>> {
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
    setting.surroundings.runtime.sleep(BEGIN).await;
    let measured = latencies(client, count).await;
    enough.store(true, Ordering::Relaxed);
    while let Some(ended) = computing.join_next().await {
        ended.context("a client panicked")??;
    }
    measured
}
