//! Measures executions under limits: the cost of being counted, and the cost that a waiting crowd
//! causes for others. The latter must not depend on the size of the crowd.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, ensure};
use segno_core::{
    command::{ClaimRequest, Command},
    id::{Holder, HostName, PromiseId},
    limit::{AdmissionRule, LimitName},
    promise::Verdict,
    reply::Reply,
    time::Millis,
    value::Value,
};
use segno_engine::worker::WorkerSettings;
use serde_json::{Value as Json, json};

use super::{
    cold_start::life,
    context::BenchContext,
    harness::{Harness, new},
    measure::{MeasuredTime, Stopwatch},
    objects::{CLIENTS, CallFigures, CallPattern, calls},
    report::{BenchSection, Goal},
};

/// The limited function: it makes no calls and ends immediately.
const FUNCTION: &str = "chain";
/// Number of keys of the waiting executions.
const KEYS: u32 = 1_000;
/// Number of executions admitted one after the other during the measurement.
const ADMITTED: u32 = 500;
/// Size of the smaller crowd, for comparison.
const FEW: u32 = ADMITTED + 100;
/// Number of executions created in one submission.
const PAGE: u32 = 256;
/// Id of the execution that holds the only permit at first.
const FIRST: &str = "first";

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let count = context.size(10_000, 150);
    let crowds: &[u32] = context.size(&[100_000, 1_000_000], &[600]);
    let mut section = BenchSection::new(format!(
        "calls of a function with a concurrency per key and in all that is never reached, {count} of as many keys by \
         {CLIENTS} clients, in turns with the same calls without a limit; then executions of {KEYS} keys that wait behind \
         one that runs: {ADMITTED} of them, one after the other, next to the same where {FEW} wait; and the start of a host \
         in a process of its own, next to a start on an empty store"
    ));
    counted(context, count, &mut section).await?;
    let empty = context.place()?;
    fill(context, empty.path(), 0).await?;
    for crowd in crowds {
        waiting(context, *crowd, empty.path(), &mut section).await?;
    }
    Ok(section)
}

fn input(key: &str) -> Json {
    json!({ "children": 0, "k": key })
}

fn limit(json: Json) -> anyhow::Result<Command> {
    let rule: AdmissionRule = serde_json::from_value(json)?;
    Ok(Command::LimitSet { name: LimitName::of("bench", FUNCTION), rule: Some(rule) })
}

/// Measures calls that are counted and never wait.
async fn counted(
    context: &BenchContext,
    count: u32,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let of = CallPattern {
        name: "calls behind a limit, 64 clients",
        function: |_| FUNCTION.to_owned(),
        input: |call| input(&call.to_string()),
        clients: CLIENTS,
        count,
    };
    let (mut limited, mut floor) = (CallFigures::default(), CallFigures::default());
    for _ in 0..context.repetitions {
        let place = context.place()?;
        let harness =
            Arc::new(Harness::sqlite(context, place.path(), WorkerSettings::default()).await?);
        calls(&harness, "warm-up", CallPattern { count: 20, clients: 1, ..of }).await?;
        floor.add(&harness, "plain", of).await?;
        let most = json!({ "concurrency": 1_000 });
        let rule = json!({ "key": "k", "per_key": { "concurrency": 2 }, "total": most });
        execute(&harness, vec![limit(rule)?]).await?;
        limited.add(&harness, "limited", of).await?;
        Arc::into_inner(harness).context("all clients have ended")?.close().await;
    }
    section.compared(&of, &limited, "the same without a limit", &floor);
    Ok(())
}

/// Measures a crowd that waits for the permit of one execution.
async fn waiting(
    context: &BenchContext,
    crowd: u32,
    empty: &Path,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let (full, little) = (context.place()?, context.place()?);
    fill(context, full.path(), crowd).await?;
    fill(context, little.path(), FEW).await?;
    let (mut start, mut bare_start, mut memory, mut bare_memory) = (vec![], vec![], vec![], vec![]);
    // Warm-up, not measured: the first run compiles the guest.
    life(context, empty, None).await?;
    life(context, full.path(), None).await?;
    for _ in 0..context.repetitions {
        let (bare, life) =
            (life(context, empty, None).await?, life(context, full.path(), None).await?);
        start.push(life.start_ms);
        bare_start.push(bare.start_ms);
        memory.push(life.memory_mb);
        bare_memory.push(bare.memory_mb);
    }
    let few = admit(context, little.path()).await?;
    let many = admit(context, full.path()).await?;
    let each = |passed: &MeasuredTime| [passed.each_us(ADMITTED)];
    let cpu = |passed: &MeasuredTime| [passed.cpu_each_us(ADMITTED)];
    let at_most = Goal::AtMost { must: 2.0, aim: 1.2 };
    section.measured(format!("{crowd} wait: one after the other"), "µs", &each(&many));
    section.floor(format!("{FEW} wait: one after the other"), "µs", &each(&few));
    section.ratio(format!("{crowd} wait: each"), &each(&many), &each(&few)).goal(at_most);
    section.measured(format!("{crowd} wait: CPU time of each"), "µs", &cpu(&many));
    section.floor(format!("{FEW} wait: CPU time of each"), "µs", &cpu(&few));
    section.ratio(format!("{crowd} wait: CPU time"), &cpu(&many), &cpu(&few)).goal(at_most);
    section.measured(format!("{crowd} wait: start to first answer"), "ms", &start);
    section.floor("an empty store, start to first answer", "ms", &bare_start);
    section.ratio(format!("{crowd} wait: start"), &start, &bare_start).goal(at_most);
    section.measured(format!("{crowd} wait: resident memory"), "MB", &memory);
    section.floor("an empty store, resident memory", "MB", &bare_memory);
    section.ratio(format!("{crowd} wait: memory"), &memory, &bare_memory).goal(at_most);
    Ok(())
}

fn waiting_id(number: u32) -> PromiseId {
    PromiseId::new(format!("waiting-{number}"))
}

/// Fills a store: one execution holds the only permit, under a claim of a host that is not running,
/// and `crowd` others wait.
async fn fill(context: &BenchContext, folder: &Path, crowd: u32) -> anyhow::Result<()> {
    let harness = Harness::unstaffed(context, &folder.join("data")).await?;
    if crowd > 0 {
        let total = json!({ "concurrency": 1 });
        execute(&harness, vec![limit(json!({ "key": "k", "total": total }))?]).await?;
        execute(&harness, vec![Command::LimitDue { name: LimitName::of("bench", FUNCTION) }])
            .await?;
        let holder = Holder { node: HostName::from("nobody"), incarnation: 1 };
        let request = ClaimRequest { holder, nonce: 1, ttl: Millis::seconds(3_600) };
        let new = new(PromiseId::from(FIRST), FUNCTION, &input(FIRST));
        execute(&harness, vec![Command::TaskCreate { new, request }]).await?;
    }
    for first in (0..crowd).step_by(PAGE as usize) {
        let page = first..crowd.min(first + PAGE);
        let start = |number: u32| {
            let input = input(&format!("key-{:04}", number % KEYS));
            Command::PromiseCreate(new(waiting_id(number), FUNCTION, &input))
        };
        execute(&harness, page.map(start).collect()).await?;
    }
    harness.close().await;
    Ok(())
}

/// Ends the execution with the permit, and measures the time until [`ADMITTED`] others have ended.
async fn admit(context: &BenchContext, folder: &Path) -> anyhow::Result<MeasuredTime> {
    let harness = Harness::sqlite(context, &folder.join("data"), WorkerSettings::default()).await?;
    let ids: Vec<PromiseId> = (0..ADMITTED).map(waiting_id).collect();
    let watch = harness.watch(&ids);
    let stopwatch = Stopwatch::start();
    let (verdict, value) = (Verdict::Resolved, Value::default());
    execute(&harness, vec![Command::PromiseSettle { id: FIRST.into(), verdict, value }]).await?;
    watch.ended(&context.env).await?;
    let passed = stopwatch.passed();
    harness.close().await;
    Ok(passed)
}

async fn execute(harness: &Harness, commands: Vec<Command>) -> anyhow::Result<()> {
    for reply in harness.host.store.execute(commands).await? {
        ensure!(!matches!(reply, Reply::Refused(_)), "refused: {reply:?}");
    }
    Ok(())
}
