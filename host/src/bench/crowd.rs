//! Many workflows at once: what a step costs when the disk's sync is shared.

use segno_core::{id::PromiseId, invocation::encode_records};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    bed::Bed,
    floor::{self, GroupedLog},
    measure::Stopwatch,
    report::{Goal, Section},
    setting::Setting,
    straight::Straight,
};
use crate::worker::WorkerSettings;

/// Steps of each workflow.
const STEPS: u32 = 20;

pub async fn run(setting: &Setting) -> anyhow::Result<Section> {
    let workflows = setting.size(1_000, 50);
    let all = workflows * STEPS;
    let (mut rate, mut cpu, mut shared, mut statements) = (vec![], vec![], vec![], vec![]);
    let (mut memory_rate, mut memory_cpu, mut log_rate, mut bare_cpu) =
        (vec![], vec![], vec![], vec![]);
    let (mut logged_rate, mut logged_cpu) = (vec![], vec![]);
    let mut record = 0;
    // Not counted, nor is the first crowd of each host: a host that has run for a while has its memory.
    straight(setting, workflows, None).await?;
    for repetition in 0..setting.repetitions {
        let place = setting.place()?;
        let bed = Bed::sqlite(setting, place.path(), WorkerSettings::default()).await?;
        bed.run(invocations("warm-up", workflows), "steps").await?;
        let before = bed.written();
        let passed = bed.run(invocations("crowd", workflows), "steps").await?;
        let after = bed.written();
        if repetition == 0 {
            let records = bed.host.store.journal(&PromiseId::from("crowd-0"), 1, 2 * STEPS).await?;
            record = encode_records(&records).len() / STEPS as usize;
        }
        bed.close().await;
        rate.push(passed.rate(all));
        cpu.push(passed.cpu_each_us(all));
        let commits = (after.commits - before.commits) as f64;
        shared.push(f64::from(all) / commits);
        statements.push((after.statements - before.statements) as f64 / commits);

        let log = GroupedLog::new(place.path())?;
        let stopwatch = Stopwatch::start();
        straight(setting, workflows, Some((&log, record))).await?;
        let passed = stopwatch.passed();
        log.close()?;
        logged_rate.push(passed.rate(all));
        logged_cpu.push(passed.cpu_each_us(all));

        log_rate.push(floor::grouped_log(place.path(), workflows, STEPS, record).await?.rate(all));

        let bed = Bed::memory(setting).await?;
        bed.run(invocations("warm-up", workflows), "steps").await?;
        let passed = bed.run(invocations("crowd", workflows), "steps").await?;
        bed.close().await;
        memory_rate.push(passed.rate(all));
        memory_cpu.push(passed.cpu_each_us(all));

        let stopwatch = Stopwatch::start();
        straight(setting, workflows, None).await?;
        bare_cpu.push(stopwatch.passed().cpu_each_us(all));
    }

    let mut section = Section::new(format!(
        "{workflows} workflows of {STEPS} `run` steps with results of 20 bytes, all at once, from the first start to the \
         last end; starts and ends are in the figures. The raw log gets {record} bytes a step, which is what the journal \
         of a step takes: once from the same guests, which wait for its sync before each next step, and once from \
         nobody but the log's own writers"
    ));
    let goal = Goal::AtLeast { must: 10_000.0, aim: 20_000.0 };
    let measured = section.measured("durable steps", "/s", &rate);
    if !setting.quick {
        measured.goal(goal);
    }
    section.measured("CPU time of a step", "µs", &cpu);
    section.measured("steps a commit", "", &shared);
    section.measured("rows written a commit, begin and end included", "", &statements);
    section.floor("the same guests on a raw log with group commit", "/s", &logged_rate);
    section.floor("CPU time of a step of theirs", "µs", &logged_cpu);
    section.floor("the raw log with nobody but its writers", "/s", &log_rate);
    section.floor("the same host over memory", "/s", &memory_rate);
    section.floor("CPU time of a step over memory", "µs", &memory_cpu);
    section.floor("CPU time of a step of the guest alone", "µs", &bare_cpu);
    section
        .ratio("steps/s / the guests on a raw log", &rate, &logged_rate)
        .goal(Goal::AtLeast { must: 0.5, aim: 0.8 });
    section.ratio("steps/s / the raw log alone", &rate, &log_rate);
    section
        .ratio("CPU / CPU over memory", &cpu, &memory_cpu)
        .goal(Goal::AtMost { must: 3.0, aim: 2.0 });
    Ok(section)
}

fn invocations(name: &str, count: u32) -> Vec<(PromiseId, serde_json::Value)> {
    let input = json!({ "steps": STEPS, "result_bytes": 22 });
    (0..count).map(|number| (PromiseId::new(format!("{name}-{number}")), input.clone())).collect()
}

/// The same work by the guests alone, on all processors; with a log, each step waits until so many bytes are synced.
async fn straight(
    setting: &Setting,
    workflows: u32,
    log: Option<(&GroupedLog, usize)>,
) -> anyhow::Result<()> {
    let input = json!({ "steps": STEPS, "result_bytes": 22 });
    let mut ready = JoinSet::new();
    for _ in 0..workflows {
        let (wasm, digest, input) = (setting.wasm.clone(), setting.digest, input.clone());
        let log = log.map(|(log, record)| (log.writer(), record));
        ready.spawn(async move {
            let mut straight = Straight::of(&wasm, digest, "steps", &input, true).await?;
            straight.steps_logged("", log).await
        });
    }
    while let Some(ended) = ready.join_next().await {
        ended??;
    }
    Ok(())
}
