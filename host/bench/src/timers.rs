//! Runs workflows that sleep, and wake up within the same second.

use anyhow::{Context as _, bail};
use segno_core::{
    id::PromiseId,
    time::{Millis, Timestamp},
};
use segno_engine::worker::WorkerSettings;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    harness::Harness,
    measure::Stopwatch,
    report::{BenchSection, percentile},
};

/// Time over which the wake-ups are spread, in milliseconds.
const SPREAD_MS: i64 = 1_000;
/// Number of attempts with late starts, after which the scenario gives up.
const ATTEMPTS: u32 = 4;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let sizes: &[u32] = context.size(&[10_000, 100_000], &[200]);
    let mut section = BenchSection::new(
        "suspended workflows, due at instants spread over one second, over SQLite; lateness is from that instant to the \
         time at which the workflow was told, and to its end. The floor is as many sleeps of the runtime",
    );
    for timers in sizes {
        measure(context, *timers, &mut section).await?;
    }
    Ok(section)
}

async fn measure(
    context: &BenchContext,
    timers: u32,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let (mut p50, mut p99, mut end_p99, mut floor_p50, mut floor_p99) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut cpu = vec![];
    for _ in 0..context.repetitions {
        let woken = woken(context, timers).await?;
        p50.push(percentile(&woken.told, 50));
        p99.push(percentile(&woken.told, 99));
        end_p99.push(percentile(&woken.ended, 99));
        cpu.push(woken.cpu_us);
        let bare = sleeps(context, timers).await?;
        floor_p50.push(percentile(&bare, 50));
        floor_p99.push(percentile(&bare, 99));
    }
    section.measured(format!("{timers}: lateness, p50"), "ms", &p50);
    section.measured(format!("{timers}: lateness, p99"), "ms", &p99);
    section.measured(format!("{timers}: lateness of the end, p99"), "ms", &end_p99);
    section.measured(
        format!("{timers}: CPU time of one, from its deadline to its end"),
        "µs",
        &cpu,
    );
    section.floor(format!("{timers} bare sleeps, lateness, p50"), "ms", &floor_p50);
    section.floor(format!("{timers} bare sleeps, lateness, p99"), "ms", &floor_p99);
    Ok(())
}

struct WakeLatencies {
    told: Vec<f64>,
    ended: Vec<f64>,
    /// CPU time per workflow from the first deadline on, in microseconds.
    cpu_us: f64,
}

async fn woken(context: &BenchContext, timers: u32) -> anyhow::Result<WakeLatencies> {
    let mut lead = Millis(1_500 + i64::from(timers) * 2 / 5);
    for _ in 0..ATTEMPTS {
        let place = context.place()?;
        let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
        let begin = context.env.clock.now() + lead;
        let due = dues(begin, timers);
        let id = |number| PromiseId::new(format!("nap-{number}"));
        let ids: Vec<PromiseId> = (0..timers).map(id).collect();
        let naps = ids
            .iter()
            .zip(&due)
            .map(|(id, due)| (id.clone(), json!({ "until_ms": due.0 })))
            .collect();
        let watch = harness.watch(&ids);
        harness.create(naps, "nap").await?;
        if context
            .env
            .within(begin.since(context.env.clock.now()), harness.suspended(&ids))
            .await
            .is_none()
        {
            harness.close().await;
            lead = Millis(lead.0 * 2);
            continue;
        }
        context.env.sleep_until(begin).await;
        let stopwatch = Stopwatch::start();
        watch.ended(&context.env).await?;
        let cpu_us = stopwatch.passed().cpu_each_us(timers);
        let told = harness.results(&ids).await?;
        let told = told.iter().map(|late| late.as_f64().context("a nap answers a number"));
        let told = told.collect::<anyhow::Result<_>>()?;
        let mut ended = Vec::with_capacity(ids.len());
        for (page, due) in ids.chunks(256).zip(due.chunks(256)) {
            for (row, due) in
                harness.host.store.read().promises(page).await?.into_iter().flatten().zip(due)
            {
                let settled = row.promise.settlement().context("it has ended")?.settled_at;
                ended.push(settled.since(*due).0 as f64);
            }
        }
        harness.close().await;
        return Ok(WakeLatencies { told, ended, cpu_us });
    }
    bail!(
        "{timers} workflows were not all asleep within {} s: this machine is too busy for this scenario",
        lead.0 / 2_000
    )
}

fn dues(begin: Timestamp, timers: u32) -> Vec<Timestamp> {
    (0..i64::from(timers))
        .map(|number| begin + Millis(number * SPREAD_MS / i64::from(timers)))
        .collect()
}

async fn sleeps(context: &BenchContext, timers: u32) -> anyhow::Result<Vec<f64>> {
    let begin = context.env.clock.now() + Millis(500);
    let mut sleeping = JoinSet::new();
    for due in dues(begin, timers) {
        let env = context.env.clone();
        sleeping.spawn(async move {
            env.sleep_until(due).await;
            env.clock.now().since(due).0 as f64
        });
    }
    let mut late = Vec::with_capacity(timers as usize);
    while let Some(ended) = sleeping.join_next().await {
        late.push(ended?);
    }
    Ok(late)
}
