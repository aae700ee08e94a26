//! Measures starts of workflows: the cost of a whole workflow when many are started concurrently.

use segno_core::id::PromiseId;
use segno_engine::worker::WorkerSettings;
use serde_json::{Value as Json, json};

use super::{
    bare_guest::BareGuest,
    context::BenchContext,
    harness::Harness,
    measure::Stopwatch,
    report::{BenchSection, Goal},
};

/// Number of clients, each of which waits for the end of its workflow before it starts the next.
const CLIENTS: usize = 256;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let count = context.size(10_000, 200);
    let (mut rate, mut cpu, mut commits) = (vec![], vec![], vec![]);
    let (mut begun_rate, mut begun_cpu, mut begun_commits) = (vec![], vec![], vec![]);
    let (mut memory_rate, mut memory_cpu, mut bare_cpu) = (vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        let place = context.place()?;
        let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
        harness.run(invocations("warm-up", 20), "noop").await?;
        let before = harness.written();
        let passed = harness.run(invocations("start", count), "noop").await?;
        let after = harness.written();
        let begun = invocations("begin", count);
        let passed_begun = harness.begin(begun, "noop", context.digest, CLIENTS).await?;
        let last = harness.written();
        harness.close().await;
        begun_rate.push(passed_begun.rate(count));
        begun_cpu.push(passed_begun.cpu_each_us(count));
        begun_commits.push(f64::from(count) / (last.commits - after.commits) as f64);
        rate.push(passed.rate(count));
        cpu.push(passed.cpu_each_us(count));
        commits.push(f64::from(count) / (after.commits - before.commits) as f64);

        let harness = Harness::memory(context).await?;
        harness.run(invocations("warm-up", 20), "noop").await?;
        let passed = harness.run(invocations("start", count), "noop").await?;
        harness.close().await;
        memory_rate.push(passed.rate(count));
        memory_cpu.push(passed.cpu_each_us(count));

        let stopwatch = Stopwatch::start();
        for _ in 0..count {
            BareGuest::start(context, "noop", &json!(null), true).await?;
        }
        bare_cpu.push(stopwatch.passed().cpu_each_us(count));
    }
    let mut section = BenchSection::new(format!(
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
