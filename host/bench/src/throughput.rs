//! Runs many concurrent workflows: measures the cost of a step when disk syncs are shared.

use segno_core::{id::PromiseId, invocation::encode_records};
use segno_engine::worker::WorkerSettings;
use serde_json::json;

use super::{
    bare_guest,
    baseline::{self, GroupedLog},
    context::BenchContext,
    harness::Harness,
    measure::{MeasuredTime, Stopwatch},
    report::{BenchSection, Goal, percentile},
};

/// Number of clients. Each starts the next workflow when the last one is stored.
const CLIENTS: usize = 256;
/// Number of steps of each workflow.
const STEPS: u32 = 20;

/// Number of alternations between the host and its baselines in one repetition. A turn lasts a
/// fraction of a second, because a shared disk may be fast in one second and slow in the next.
const ROUNDS: u32 = 5;

/// Results of the turns of one kind in one repetition.
#[derive(Default)]
struct TurnRates {
    rates: Vec<f64>,
    cpus: Vec<f64>,
}

/// The medians, one per repetition.
#[derive(Default)]
struct Medians {
    rates: Vec<f64>,
    cpus: Vec<f64>,
}

impl TurnRates {
    fn take(&mut self, passed: MeasuredTime, steps: u32) {
        self.rates.push(passed.rate(steps));
        self.cpus.push(passed.cpu_each_us(steps));
    }
}

impl Medians {
    fn take(&mut self, turns: &TurnRates) {
        self.rates.push(percentile(&turns.rates, 50));
        self.cpus.push(percentile(&turns.cpus, 50));
    }
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let workflows = context.size(1_000, 50);
    let all = workflows * STEPS;
    let (mut durable, mut logged, mut log_alone, mut memory, mut bare) = (
        Medians::default(),
        Medians::default(),
        Medians::default(),
        Medians::default(),
        Medians::default(),
    );
    let (mut shared, mut statements) = (vec![], vec![]);
    let mut record = 0;
    for repetition in 0..context.repetitions {
        let place = context.place()?;
        let harness =
            Harness::sqlite(context, &place.path().join("data"), WorkerSettings::default()).await?;
        let volatile = Harness::memory(context).await?;
        // Warm-up, not measured: a process that has run for a while has allocated its memory.
        bare_guest::crowd(context, workflows, STEPS, None).await?;
        begin(context, &harness, "warm-up", workflows).await?;
        begin(context, &volatile, "warm-up", workflows).await?;
        if repetition == 0 {
            let records = harness
                .host
                .store
                .read()
                .journal(&PromiseId::from("warm-up-0"), 1, 2 * STEPS)
                .await?;
            record = encode_records(&records).len() / STEPS as usize;
        }
        let (mut of_durable, mut of_logged, mut of_log, mut of_memory, mut of_bare) = (
            TurnRates::default(),
            TurnRates::default(),
            TurnRates::default(),
            TurnRates::default(),
            TurnRates::default(),
        );
        let (mut commits, mut written) = (0.0, 0.0);
        for round in 0..ROUNDS {
            let name = format!("crowd-{round}");
            let before = harness.written();
            of_durable.take(begin(context, &harness, &name, workflows).await?, all);
            let after = harness.written();
            commits += (after.commits - before.commits) as f64;
            written += (after.statements - before.statements) as f64;

            let log = GroupedLog::new(place.path())?;
            let stopwatch = Stopwatch::start();
            bare_guest::crowd(context, workflows, STEPS, Some((&log, record))).await?;
            of_logged.take(stopwatch.passed(), all);
            log.close()?;

            of_log.take(baseline::grouped_log(place.path(), workflows, STEPS, record).await?, all);
            of_memory.take(begin(context, &volatile, &name, workflows).await?, all);

            let stopwatch = Stopwatch::start();
            bare_guest::crowd(context, workflows, STEPS, None).await?;
            of_bare.take(stopwatch.passed(), all);
        }
        harness.close().await;
        volatile.close().await;
        durable.take(&of_durable);
        logged.take(&of_logged);
        log_alone.take(&of_log);
        memory.take(&of_memory);
        bare.take(&of_bare);
        shared.push(f64::from(all * ROUNDS) / commits);
        statements.push(written / commits);
    }

    let mut section = BenchSection::new(format!(
        "{workflows} workflows of {STEPS} `run` steps with results of 20 bytes, all at once, begun by the host for {CLIENTS} clients, from \
         the first start to the last end; starts and ends are in the figures. The raw log gets {record} bytes a step, which is what the journal \
         of a step takes: once from the same guests, which wait for its sync before each next step, and once from \
         only the log's own writers. A repetition is the median of {ROUNDS} turns of each"
    ));
    let goal = Goal::AtLeast { must: 10_000.0, aim: 20_000.0 };
    let measured = section.measured("durable steps", "/s", &durable.rates);
    if !context.quick {
        measured.goal(goal);
    }
    section.measured("CPU time of a step", "µs", &durable.cpus);
    section.measured("steps a commit", "", &shared);
    section.measured("rows written a commit, begin and end included", "", &statements);
    section.floor("the same guests on a raw log with group commit", "/s", &logged.rates);
    section.floor("CPU time of a step of theirs", "µs", &logged.cpus);
    section.floor("the raw log with its writers only", "/s", &log_alone.rates);
    section.floor("the same host over memory", "/s", &memory.rates);
    section.floor("CPU time of a step over memory", "µs", &memory.cpus);
    section.floor("CPU time of a step of the guest alone", "µs", &bare.cpus);
    section
        .ratio("steps/s / the guests on a raw log", &durable.rates, &logged.rates)
        .goal(Goal::AtLeast { must: 0.5, aim: 0.8 });
    section.ratio("steps/s / the raw log alone", &durable.rates, &log_alone.rates);
    section
        .ratio("CPU / CPU over memory", &durable.cpus, &memory.cpus)
        .goal(Goal::AtMost { must: 3.0, aim: 2.0 });
    Ok(section)
}

/// Starts all workflows on a host.
async fn begin(
    context: &BenchContext,
    harness: &Harness,
    name: &str,
    count: u32,
) -> anyhow::Result<MeasuredTime> {
    let input = json!({ "steps": STEPS, "result_bytes": 22 });
    let named = |number| (PromiseId::new(format!("{name}-{number}")), input.clone());
    harness.begin((0..count).map(named).collect(), "steps", context.digest, CLIENTS).await
}
