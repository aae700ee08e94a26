//! Checks all executions in flight against another module, and measures the effect on other
//! requests.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context as _, ensure};
use segno_api::model::{CheckRequest, CheckVerdict};
use segno_client::Client;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_engine::worker::WorkerSettings;
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    harness::Harness,
    http::{invoke, noop},
    measure::{self, Stopwatch},
    report::{BenchSection, Goal, percentile},
    suspended_fixture,
};

/// Number of steps per workflow. With `started`, the promise and two records per step, a journal
/// has 50 records.
const STEPS: u32 = 24;
/// Executions per page of the check; this is the maximum.
const PAGE: u32 = 1_000;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let (crowd, alone) = (context.size(10_000, 100), context.size(1_000, 20));
    let place = context.place()?;
    let harness =
        Harness::sqlite(context, &place.path().join("data"), WorkerSettings::default()).await?;
    suspended_fixture::put_of(&harness, crowd, STEPS).await?;
    harness.close().await;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    let candidate = client.deploy(renamed(&context.component), None).await?.module.digest;
    let first =
        CheckRequest { candidate: candidate.clone(), limit: Some(1), ..CheckRequest::default() };
    // This first check compiles the candidate.
    client.check("bench", &first).await?;
    for _ in 0..20 {
        invoke(client, &noop()).await?;
    }
    let before_mb = measure::peak_mb(server.pid())?;
    let (mut seconds, mut quiet, mut beside, mut slower) = (vec![], vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        let mut starts = Vec::new();
        for _ in 0..alone {
            starts.push(invoke(client, &noop()).await?);
        }
        let others = NoopClients::begin(client);
        let stopwatch = Stopwatch::start();
        check(client, &candidate, crowd).await?;
        seconds.push(stopwatch.wall_us() / 1e6);
        let meanwhile = others.end().await?;
        let [alone, meanwhile] = [&starts, &meanwhile].map(|took| percentile(took, 99) / 1e3);
        quiet.push(alone);
        beside.push(meanwhile);
        slower.push(meanwhile / alone);
    }
    let after_mb = measure::peak_mb(server.pid())?;
    server.stop().await?;

    let mut section = BenchSection::new(format!(
        "{crowd} suspended workflows of {} records are replayed on another module of the same code, by pages of {PAGE}, while \
         one client starts no-ops; before that it starts {alone} alone. The client shares the machine's processors",
        2 * STEPS + 2
    ));
    section
        .measured("the check of all", "s", &seconds)
        .goal(Goal::AtMost { must: 30.0, aim: 15.0 });
    section.floor("no-op alone, p99", "ms", &quiet);
    section.measured("no-op during the check, p99", "ms", &beside);
    section
        .ratio("no-op during the check / alone, p99", &beside, &quiet)
        .goal(Goal::AtMost { must: 2.0, aim: 1.5 });
    section.floor("most memory of the host before", "MB", &[before_mb]);
    section.measured("most memory of the host", "MB", &[after_mb]);
    Ok(section)
}

/// The same component under another digest, by appending an empty custom section.
fn renamed(component: &[u8]) -> Vec<u8> {
    // A custom section: section id, length of the content, length of the name, name.
    [component, &[0, 5, 4], b"same"].concat()
}

/// Checks all executions, page by page.
async fn check(client: &Client, candidate: &str, crowd: u32) -> anyhow::Result<()> {
    let mut request = CheckRequest {
        candidate: candidate.to_owned(),
        limit: Some(PAGE),
        ..CheckRequest::default()
    };
    let mut same = 0;
    loop {
        let page = client.check("bench", &request).await?;
        same += page.items.iter().filter(|it| it.verdict == CheckVerdict::Same).count();
        match page.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    // The template workflow waits as well, and no-ops may be in progress.
    ensure!(same > crowd as usize, "{same} of {crowd} workflows are the same");
    Ok(())
}

/// A client that starts no-ops until stopped.
struct NoopClients {
    enough: Arc<AtomicBool>,
    asking: JoinSet<anyhow::Result<Vec<f64>>>,
}

impl NoopClients {
    fn begin(client: &Client) -> Self {
        let (enough, client) = (Arc::new(AtomicBool::new(false)), client.clone());
        let told = enough.clone();
        let mut asking = JoinSet::new();
        asking.spawn(async move {
            let mut starts = Vec::new();
            while !told.load(Ordering::Relaxed) {
                starts.push(invoke(&client, &noop()).await?);
            }
            Ok(starts)
        });
        Self { enough, asking }
    }

    /// Stops the client; returns the duration of each no-op, in microseconds.
    async fn end(mut self) -> anyhow::Result<Vec<f64>> {
        self.enough.store(true, Ordering::Relaxed);
        self.asking.join_next().await.context("there is one client")?.context("it panicked")?
    }
}
