//! Workflows that begin and end: what a whole one costs when many are started at once.

use segno_core::id::PromiseId;
use serde_json::{Value as Json, json};

use super::{
    bed::Bed,
    measure::Stopwatch,
    report::{Goal, Section},
    setting::Setting,
    straight::Straight,
};
use segno_engine::worker::WorkerSettings;

/// Clients that wait for the end of one before they start the next.
const CLIENTS: usize = 256;

pub async fn run(setting: &Setting) -> anyhow::Result<Section> {
    let count = setting.size(10_000, 200);
    let (mut rate, mut cpu, mut commits) = (vec![], vec![], vec![]);
    let (mut begun_rate, mut begun_cpu, mut begun_commits) = (vec![], vec![], vec![]);
    let (mut memory_rate, mut memory_cpu, mut bare_cpu) = (vec![], vec![], vec![]);
    for _ in 0..setting.repetitions {
        let place = setting.place()?;
        let bed = Bed::sqlite(setting, place.path(), WorkerSettings::default()).await?;
        bed.run(invocations("warm-up", 20), "noop").await?;
        let before = bed.written();
        let passed = bed.run(invocations("start", count), "noop").await?;
        let after = bed.written();
        let begun = invocations("begin", count);
        let passed_begun = bed.begin(begun, "noop", setting.digest, CLIENTS).await?;
        let last = bed.written();
        bed.close().await;
        begun_rate.push(passed_begun.rate(count));
        begun_cpu.push(passed_begun.cpu_each_us(count));
        begun_commits.push(f64::from(count) / (last.commits - after.commits) as f64);
        rate.push(passed.rate(count));
        cpu.push(passed.cpu_each_us(count));
        commits.push(f64::from(count) / (after.commits - before.commits) as f64);

        let bed = Bed::memory(setting).await?;
        bed.run(invocations("warm-up", 20), "noop").await?;
        let passed = bed.run(invocations("start", count), "noop").await?;
        bed.close().await;
        memory_rate.push(passed.rate(count));
        memory_cpu.push(passed.cpu_each_us(count));

        let stopwatch = Stopwatch::start();
        for _ in 0..count {
            Straight::start(setting, "noop", &json!(null), true).await?;
        }
        bare_cpu.push(stopwatch.passed().cpu_each_us(count));
    }
    let mut section = Section::new(format!(
        "{count} workflows that end at once, from the first start to the last end: handed to the store 256 in a submission \
         and then taken by the host, and begun by the host for {CLIENTS} clients at a time, as its API does"
    ));
    section.measured("workflows begun and ended", "/s", &rate);
    section.measured("CPU time of one", "µs", &cpu);
    section.measured("workflows a commit", "", &commits);
    section.measured("begun by the host for its clients", "/s", &begun_rate);
    section.measured("CPU time of one begun so", "µs", &begun_cpu);
    section.measured("begun and ended a commit", "", &begun_commits);
    section.floor("the same host over memory", "/s", &memory_rate);
    section.floor("CPU time of one over memory", "µs", &memory_cpu);
    section.floor("CPU time of a fresh instance and its one poll", "µs", &bare_cpu);
    section
        .ratio("CPU / CPU over memory", &cpu, &memory_cpu)
        .goal(Goal::AtMost { must: 3.0, aim: 2.0 });
    Ok(section)
}

fn invocations(name: &str, count: u32) -> Vec<(PromiseId, Json)> {
    (0..count).map(|number| (PromiseId::new(format!("{name}-{number}")), json!(null))).collect()
}
