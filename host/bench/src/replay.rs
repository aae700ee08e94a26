//! Measures replays: reading a journal, and running its guest over it.

use std::hint::black_box;

use anyhow::{Context as _, bail, ensure};
use segno_core::{
    command::{ClaimRequest, Command},
    id::{Claim, Holder, HostName, PromiseId, Version},
    invocation::Record,
    promise::Verdict,
    reply::Reply,
    time::Millis,
    value::Value,
};
use segno_engine::{
    host::Host,
    worker::{self, ReplayReport},
};
use serde_json::json;

use super::{
    bare_guest::BareGuest,
    context::BenchContext,
    harness::Harness,
    measure::Stopwatch,
    report::{BenchSection, Goal},
};

/// Minimum number of records replayed in one repetition of one size.
const WORK: u32 = 20_000;
/// Number of host calls in the empty loop.
const CROSSINGS: u32 = 200_000;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let sizes: &[u32] = context.size(&[100, 1_000, 10_000, 100_000], &[100, 1_000]);
    let place = context.place()?;
    let memory = Harness::memory(context).await?;
    let sqlite = Harness::unstaffed(context, place.path()).await?;
    let mut journals = JournalCopier::begin(&sqlite).await?;
    for records in sizes {
        let id = id(*records);
        let steps = steps(*records);
        memory.run_one(id.as_str(), "steps", json!({ "steps": steps, "result_bytes": 22 })).await?;
        let journal = memory.host.store.read().journal(&id, 0, u32::MAX).await?;
        journals.copy(&id, journal).await?;
    }

    let mut section = BenchSection::new(
        "workflows of `run` steps with results of 20 bytes, replayed from a fresh instance to their end; a step is two \
         records. The bare loop is the same guest told the same results, without a journal",
    );
    for records in sizes {
        let times = (WORK / records).max(1);
        let (mut from_memory, mut from_sqlite, mut bare) = (vec![], vec![], vec![]);
        for _ in 0..context.repetitions {
            from_memory.push(replays(&memory.host, *records, times).await?);
            from_sqlite.push(replays(&sqlite.host, *records, times).await?);
            bare.push(loops(context, *records, times).await?);
        }
        let goal = Goal::AtMost { must: 5.0, aim: 3.0 };
        section.measured(format!("{records} records"), "µs/record", &from_memory);
        section.measured(format!("{records} records, read from SQLite"), "µs/record", &from_sqlite);
        section.floor(format!("{records} records, bare loop"), "µs/record", &bare);
        section.ratio(format!("{records} records / bare loop"), &from_memory, &bare).goal(goal);
        let rate: Vec<f64> = from_memory.iter().map(|each| 1e6 / each).collect();
        let rate = section.measured(format!("{records} records"), "records/s", &rate);
        if *records >= 1_000 {
            rate.goal(Goal::AtLeast { must: 500_000.0, aim: 1_000_000.0 });
        }
    }
    let mut crossing = Vec::new();
    for _ in 0..context.repetitions {
        let stopwatch = Stopwatch::start();
        BareGuest::start(context, "crossings", &json!(CROSSINGS), false).await?;
        crossing.push(stopwatch.wall_us() * 1_000.0 / f64::from(CROSSINGS));
    }
    section.floor("one call of the host by the guest", "ns", &crossing);
    memory.close().await;
    sqlite.close().await;
    Ok(section)
}

fn id(records: u32) -> PromiseId {
    PromiseId::new(format!("replay-{records}"))
}

/// Number of steps for a journal of this length; the first and last record belong to the workflow
/// itself.
fn steps(records: u32) -> u32 {
    (records - 2) / 2
}

/// Microseconds per record, averaged over several replays.
async fn replays(host: &Host, records: u32, times: u32) -> anyhow::Result<f64> {
    let id = id(records);
    let stopwatch = Stopwatch::start();
    for _ in 0..times {
        let report: ReplayReport = worker::replay(host, &id, None).await?;
        ensure!(
            report.is_identical() && report.matched == records && report.finished,
            "the replay of `{id}` matched {} of {records} records",
            report.matched
        );
    }
    Ok(stopwatch.passed().each_us(times * records))
}

async fn loops(context: &BenchContext, records: u32, times: u32) -> anyhow::Result<f64> {
    let input = json!({ "steps": steps(records), "result_bytes": 22 });
    let result = format!("\"{}\"", "x".repeat(20));
    let stopwatch = Stopwatch::start();
    for _ in 0..times {
        let mut straight = BareGuest::start(context, "steps", &input, false).await?;
        straight.steps(black_box(&result)).await?;
    }
    Ok(stopwatch.passed().each_us(times * records))
}

/// Copies journals into another store, under a claim like a worker's.
struct JournalCopier<'a> {
    harness: &'a Harness,
    holder: Holder,
}

impl<'a> JournalCopier<'a> {
    async fn begin(harness: &'a Harness) -> anyhow::Result<Self> {
        let node = HostName::from("bench");
        let replies =
            harness.host.store.execute(vec![Command::HostStart { node: node.clone() }]).await?;
        let Some(Reply::Host { incarnation, .. }) = replies.into_iter().next() else {
            bail!("the node could not begin a life");
        };
        Ok(Self { harness, holder: Holder { node, incarnation } })
    }

    async fn copy(&mut self, id: &PromiseId, mut records: Vec<Record>) -> anyhow::Result<()> {
        let request = ClaimRequest { holder: self.holder.clone(), nonce: 1, ttl: Millis(600_000) };
        self.harness.create(vec![(id.clone(), json!(null))], "steps").await?;
        let claim = Claim { id: id.clone(), version: Version(0) };
        let acquire = Command::TaskAcquire { claim, request, stall_limit: None };
        let Reply::Task(acquired) = self.execute(acquire).await? else {
            bail!("the task of `{id}` could not be acquired");
        };
        let claim = Claim { id: id.clone(), version: acquired.task.version };
        let last = records.pop().context("a journal has an end")?;
        for page in records.chunks(4_096) {
            let (records, logs, actions) = (page.to_vec(), Vec::new(), Vec::new());
            let fenced = self
                .execute(Command::TaskFence { claim: claim.clone(), records, logs, actions })
                .await?;
            ensure!(
                matches!(fenced, Reply::Fenced { .. }),
                "a page of `{id}` was refused: {fenced:?}"
            );
        }
        let value = Value::of(b"null".to_vec());
        let (records, verdict, logs) = (vec![last], Verdict::Resolved, Vec::new());
        let ended =
            self.execute(Command::TaskFulfill { claim, records, logs, verdict, value }).await?;
        ensure!(matches!(ended, Reply::Promise { .. }), "the end of `{id}` was refused: {ended:?}");
        Ok(())
    }

    async fn execute(&self, command: Command) -> anyhow::Result<Reply> {
        let replies = self.harness.host.store.execute(vec![command]).await?;
        replies.into_iter().next().context("one reply for one command")
    }
}
