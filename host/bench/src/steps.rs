//! Runs one workflow whose steps depend on each other, so that each step waits for the disk.

use segno_engine::worker::WorkerSettings;
use serde_json::json;

use super::{
    baseline::{BaselineDatabase, SyncedFile},
    context::BenchContext,
    harness::Harness,
    report::{BenchSection, Goal, percentile},
};

/// Number of alternations between baseline and host in one repetition.
const ROUNDS: u32 = 10;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let steps = context.size(200, 10);
    let place = context.place()?;
    let harness =
        Harness::sqlite(context, &place.path().join("data"), WorkerSettings::default()).await?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    let mut appends = SyncedFile::new(place.path())?;
    let input = json!({ "steps": steps, "result_bytes": 22 });
    harness.run_one("warm-up", "steps", input.clone()).await?;

    let (mut rate, mut each, mut cpu, mut statements) = (vec![], vec![], vec![], vec![]);
    let (mut commit, mut append) = (vec![], vec![]);
    for repetition in 0..context.repetitions {
        let (mut walls, mut cpus, mut commit_means, mut append_means) =
            (vec![], vec![], vec![], vec![]);
        let before = harness.written();
        for round in 0..ROUNDS {
            let passed = harness
                .run_one(&format!("steps-{repetition}-{round}"), "steps", input.clone())
                .await?;
            walls.push(passed.each_us(steps));
            cpus.push(passed.cpu_each_us(steps));
            let (mut commit, mut append) = (0.0, 0.0);
            for _ in 0..steps {
                commit += commits.commit(&[1; 100]).await?;
                append += appends.append(&[1; 100])?;
            }
            commit_means.push(commit / f64::from(steps));
            append_means.push(append / f64::from(steps));
        }
        let after = harness.written();
        rate.push(1e6 / percentile(&walls, 50));
        each.push(percentile(&walls, 50));
        cpu.push(percentile(&cpus, 50));
        statements.push((after.statements - before.statements) as f64 / f64::from(steps * ROUNDS));
        commit.push(percentile(&commit_means, 50));
        append.push(percentile(&append_means, 50));
    }
    harness.close().await;
    commits.close().await?;

    let mut section = BenchSection::new(format!(
        "workflows of {steps} `run` steps with results of 20 bytes, one step after the other and one workflow after the \
         other, with as many bare commits and appends after each; a repetition is the median of {ROUNDS} such turns"
    ));
    section.measured("durable steps", "/s", &rate);
    section.measured("a step", "µs", &each);
    section.measured("CPU time of a step", "µs", &cpu);
    section.measured("SQL statements of a step", "", &statements);
    section.floor("bare SQLite FULL commit", "µs", &commit);
    section.floor("bare fdatasync append", "µs", &append);
    section
        .ratio("step / bare SQLite FULL commit", &each, &commit)
        .goal(Goal::AtMost { must: 2.0, aim: 1.3 });
    Ok(section)
}
