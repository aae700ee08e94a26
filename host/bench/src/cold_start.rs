//! Starts a host on a store full of suspended workflows: the cost must depend on due work, not on
//! the amount of existing work.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use segno_api::model::{InvocationState, StartInvocation};
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_engine::worker::WorkerSettings;
use serde_json::Value as Json;

use super::{
    context::BenchContext,
    harness::Harness,
    measure::{Stopwatch, resident_mb},
    report::{BenchSection, Goal},
    suspended_fixture,
};

/// Time for a host to settle before its memory is measured.
const SETTLE: Millis = Millis(500);
/// Time limit of a woken workflow, after which the run counts as stuck.
const WAKE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let crowds: &[u32] = context.size(&[1_000, 100_000, 1_000_000], &[200]);
    let mut section = BenchSection::new(
        "a host in a process of its own, started on a store of suspended workflows (six records each): from the start of \
         the process to the end of a first no-op, then its resident memory. In turns with the same on an empty store; \
         each time one of the workflows is woken, and has to end",
    );
    let empty = context.place()?;
    fill(context, empty.path(), 0).await?;
    for crowd in crowds {
        let full = context.place()?;
        fill(context, full.path(), *crowd).await?;
        let (mut start, mut bare_start, mut memory, mut bare_memory) =
            (vec![], vec![], vec![], vec![]);
        // Warm-up, not measured: the first run compiles the guest.
        life(context, empty.path(), None).await?;
        life(context, full.path(), None).await?;
        for repetition in 0..context.repetitions {
            let bare = life(context, empty.path(), None).await?;
            let sleeper = suspended_fixture::id(u32::try_from(repetition)? * 7 % crowd);
            let life = life(context, full.path(), Some(sleeper.as_str())).await?;
            start.push(life.start_ms);
            bare_start.push(bare.start_ms);
            memory.push(life.memory_mb);
            bare_memory.push(bare.memory_mb);
        }
        let at_most = Goal::AtMost { must: 2.0, aim: 1.2 };
        section.measured(format!("{crowd} workflows, start to first answer"), "ms", &start);
        section.floor("an empty store, start to first answer", "ms", &bare_start);
        section.ratio(format!("{crowd} workflows, start"), &start, &bare_start).goal(at_most);
        section.measured(format!("{crowd} workflows, resident memory"), "MB", &memory);
        section.floor("an empty store, resident memory", "MB", &bare_memory);
        section.ratio(format!("{crowd} workflows, memory"), &memory, &bare_memory).goal(at_most);
    }
    Ok(section)
}

/// The measurements of one run of a host.
pub(crate) struct HostStartup {
    /// Time from the start of the process to the end of a first no-op, in milliseconds.
    pub start_ms: f64,
    /// Resident memory after that, in MB.
    pub memory_mb: f64,
}

async fn fill(context: &BenchContext, folder: &Path, crowd: u32) -> anyhow::Result<()> {
    let harness = Harness::sqlite(context, &folder.join("data"), WorkerSettings::default()).await?;
    if crowd > 0 {
        suspended_fixture::put(&harness, crowd).await?;
    }
    harness.close().await;
    Ok(())
}

/// Starts a host on a store, runs a no-op, wakes a workflow if given, and stops the host.
pub(crate) async fn life(
    context: &BenchContext,
    folder: &Path,
    sleeper: Option<&str>,
) -> anyhow::Result<HostStartup> {
    let options = ServerOptions::within(folder, &context.binary)?;
    let stopwatch = Stopwatch::start();
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    let noop = StartInvocation {
        target: "bench/noop".to_owned(),
        input: Json::Null,
        wait_ms: Some(60_000),
        ..StartInvocation::default()
    };
    client.start(&noop).await?;
    let start_ms = stopwatch.wall_us() / 1e3;
    context.env.runtime.sleep(SETTLE).await;
    let memory_mb = resident_mb(server.pid())?;
    if let Some(sleeper) = sleeper {
        wake(client, sleeper).await.with_context(|| format!("`{sleeper}` was woken"))?;
    }
    server.stop().await?;
    Ok(HostStartup { start_ms, memory_mb })
}

async fn wake(client: &Client, sleeper: &str) -> anyhow::Result<()> {
    client.resolve(&suspended_fixture::awaited(sleeper), Json::Null).await?;
    let outcome = client.wait(sleeper, WAKE_TIMEOUT).await?;
    ensure!(outcome.state == InvocationState::Resolved, "it is {:?}", outcome.state);
    Ok(())
}
