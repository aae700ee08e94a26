//! Measures the cost of resuming a workflow, with and without a warm instance.

use anyhow::Context as _;
use segno_core::{id::PromiseId, time::Millis};
use segno_engine::worker::{self, WarmBudget, WorkerSettings};
use serde_json::json;

use super::{
    bare_guest::BareGuest,
    context::BenchContext,
    harness::Harness,
    long,
    measure::Stopwatch,
    report::{BenchSection, Goal},
    suspended_fixture,
};

/// Number of steps before the wait. With `started`, the promise and two records per step, a journal
/// has 100 records.
const STEPS: u32 = 49;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let workflows = context.size(400, 20);
    let turns = context.size(20_000, 500);
    let replays = context.size(500, 20);
    let cold =
        WorkerSettings { warm: WarmBudget { instances: 0, bytes: 0 }, ..WorkerSettings::default() };
    let (mut warm_us, mut replay_us) = (vec![], vec![]);
    let (mut warm_cpu, mut cold_cpu) = (vec![], vec![]);
    for _ in 0..context.repetitions {
        let mut straight =
            BareGuest::start(context, "turns", &json!({ "steps": 0, "turns": turns }), false)
                .await?;
        let stopwatch = Stopwatch::start();
        for _ in 0..turns {
            straight.turn().await?;
        }
        warm_us.push(stopwatch.passed().each_us(turns));

        let harness = Harness::memory(context).await?;
        let id = PromiseId::from("waits");
        harness.create(vec![(id.clone(), json!({ "steps": STEPS, "turns": 1 }))], "turns").await?;
        harness.suspended(std::slice::from_ref(&id)).await?;
        let stopwatch = Stopwatch::start();
        for _ in 0..replays {
            let report = worker::replay(&harness.host, &id, None).await?;
            anyhow::ensure!(
                report.is_identical() && report.matched == 100,
                "{} records matched",
                report.matched
            );
        }
        replay_us.push(stopwatch.passed().each_us(replays));
        harness.close().await;

        warm_cpu.push(woken(context, WorkerSettings::default(), workflows).await?);
        cold_cpu.push(woken(context, cold, workflows).await?);
    }
    let mut section = BenchSection::new(format!(
        "a workflow with 100 records that waits for a promise: one poll of its instance against a fresh instance and a \
         replay, without storage; then {workflows} of them woken at once over SQLite, from the settlements to their ends; then one of {} records, \
         woken by a host that has just come up",
        context.size(100_000, 2_000)
    ));
    section.measured("a poll of a warm instance", "µs", &warm_us);
    section.measured("a fresh instance and a replay of 100 records", "µs", &replay_us);
    section
        .ratio("warm / replay", &warm_us, &replay_us)
        .goal(Goal::AtMost { must: 0.1, aim: 0.03 });
    section.measured("over SQLite, warm, CPU time of each", "µs", &warm_cpu);
    section.measured("over SQLite, by replay, CPU time of each", "µs", &cold_cpu);
    section.ratio("over SQLite, warm / by replay", &warm_cpu, &cold_cpu);
    from_snapshot(context, &mut section).await?;
    Ok(section)
}

/// Measures a workflow with a long journal, woken by a newly started host, with and without a
/// snapshot.
async fn from_snapshot(context: &BenchContext, section: &mut BenchSection) -> anyhow::Result<()> {
    let records = context.size(100_000, 2_000);
    let (place, folder) = (context.place()?, context.place()?);
    let guests = context.with_snapshots(folder.path(), records / 2)?;
    let id = PromiseId::from("long");
    let warm = WorkerSettings::default();
    let harness = Harness::sqlite_with(context, guests.clone(), place.path(), warm).await?;
    suspended_fixture::put_long(&harness, &id, (records - 2) / 2, 1_000).await?;
    let stopwatch = Stopwatch::start();
    // Without a warm instance, this replays; when the workflow waits again, a snapshot is taken.
    long::go_on(context, &harness, &id, 0).await?;
    let is_made = async {
        while !harness.host.metrics.text().contains("segno_snapshots_total{event=\"made\"} 1") {
            context.env.runtime.sleep(Millis(1)).await;
        }
    };
    context.env.within(Millis(60_000), is_made).await.context("no snapshot is made")?;
    let made = [stopwatch.passed().cpu_each_us(1) / 1_000.0];
    // A short workflow as the floor: its journal hardly matters, so it shows the constant cost of a
    // wake-up.
    let short = PromiseId::from("short");
    let input = json!({ "steps": STEPS, "turns": 1_000 });
    harness.create(vec![(short.clone(), input)], "turns").await?;
    harness.suspended(std::slice::from_ref(&short)).await?;
    harness.close().await;

    let (mut replayed, mut restored, mut floor) = (vec![], vec![], vec![]);
    let (mut turns, mut prepared) = ([1, 0], [vec![], vec![], vec![]]);
    for _ in 0..context.repetitions {
        let woken = [
            (&id, &context.wasm, &mut replayed),
            (&id, &guests, &mut restored),
            (&short, &context.wasm, &mut floor),
        ];
        for (row, (id, guests, woken)) in woken.into_iter().enumerate() {
            let turn = &mut turns[usize::from(*id == short)];
            let harness = Harness::sqlite_with(context, guests.clone(), place.path(), warm).await?;
            let stopwatch = Stopwatch::start();
            long::go_on(context, &harness, id, *turn).await?;
            woken.push(stopwatch.wall_us() / 1_000.0);
            *turn += 1;
            prepared[row].push(prepared_ms(&harness));
            harness.close().await;
        }
    }
    section.floor("a journal of 100 records, woken by replay", "ms", &floor);
    section.measured(
        "a long journal replayed, its snapshot made and proved, CPU time",
        "ms",
        &made,
    );
    section.measured("a long journal, woken by replay", "ms", &replayed);
    section.measured("  = woken from a snapshot", "ms", &restored);
    section.ratio("from a snapshot / by replay", &restored, &replayed);
    let [by_replay, from_snapshot, _] = prepared;
    section.measured("its instance at the end of the journal, by replay", "ms", &by_replay);
    section.measured("its instance there, from the snapshot", "ms", &from_snapshot);
    Ok(())
}

/// Milliseconds that this host spent bringing instances to the end of their journals.
fn prepared_ms(harness: &Harness) -> f64 {
    let metrics = harness.host.metrics.text();
    let mut lines = metrics.lines();
    let sum = lines.find_map(|line| line.strip_prefix("segno_replay_duration_seconds_sum "));
    sum.and_then(|seconds| seconds.trim().parse::<f64>().ok()).unwrap_or(f64::NAN) * 1_000.0
}

/// CPU time in microseconds from the settlement of a promise to the end of the workflow that
/// awaited it.
async fn woken(
    context: &BenchContext,
    worker: WorkerSettings,
    workflows: u32,
) -> anyhow::Result<f64> {
    let place = context.place()?;
    let harness = Harness::sqlite(context, place.path(), worker).await?;
    let ids: Vec<PromiseId> =
        (0..workflows).map(|number| PromiseId::new(format!("turns-{number}"))).collect();
    let watch = harness.watch(&ids);
    let input = json!({ "steps": STEPS, "turns": 1 });
    harness.create(ids.iter().map(|id| (id.clone(), input.clone())).collect(), "turns").await?;
    harness.suspended(&ids).await?;
    let stopwatch = Stopwatch::start();
    harness.resolve(ids.iter().map(|id| id.named("turn-0")).collect()).await?;
    watch.ended(&context.env).await?;
    let passed = stopwatch.passed();
    harness.results(&ids).await?;
    harness.close().await;
    Ok(passed.cpu_each_us(workflows))
}
