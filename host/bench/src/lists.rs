//! Requests expensive lists: measures the cost of a page on a full store, and the effect on other
//! requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use reqwest::StatusCode;
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_engine::worker::WorkerSettings;
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    harness::Harness,
    http::{invoke, noop},
    measure::Stopwatch,
    report::{BenchSection, Goal, percentile},
    suspended_fixture,
};

/// The pages requested: each filter, with and without matches, at the maximum page size.
const LISTS: &[&str] = &[
    "invocations?limit=1000",
    "invocations?state=suspended&limit=1000",
    "invocations?state=resolved&limit=1000",
    "invocations?stuck=true&limit=1000",
    "invocations?label=none=x&limit=1000",
    "invocations?module=none&limit=1000",
    "invocations?function=none&limit=1000",
    "invocations?prefix=sleeper-1&limit=1000",
    "invocations?prefix=none&limit=1000",
    "invocations?prefix=sleeper-&state=rejected&roots=true&limit=1000",
    "promises?limit=1000",
    "promises?state=rejected&limit=1000",
    "promises?prefix=sleeper-&state=resolved&limit=1000",
    "promises?tags=%7B%22none%22%3A%22x%22%7D&limit=1000",
];
/// Number of connections that request lists continuously.
const CONNECTIONS: usize = 100;
/// Time until all connections are requesting lists.
const BEGIN: Millis = Millis(500);
/// Time limit of a page, after which the benchmark fails.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let crowd = context.size(200_000, 2_000);
    let (pages, asked) = (context.size(20, 3), context.size(1_000, 20));
    let place = context.place()?;
    let harness =
        Harness::sqlite(context, &place.path().join("data"), WorkerSettings::default()).await?;
    suspended_fixture::put(&harness, crowd).await?;
    harness.close().await;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client();
    let http = segno_env::http_client(segno_env::Proxies::None).timeout(PAGE_TIMEOUT).build()?;
    let address = client.server().to_string();
    for _ in 0..20 {
        invoke(client, &noop()).await?;
    }

    let mut alone = vec![Vec::new(); LISTS.len()];
    let (mut quiet_starts, mut starts, mut late_starts) = (vec![], vec![], vec![]);
    let (mut quiet_ready, mut ready, mut answered, mut refused) = (vec![], vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        for (list, costs) in LISTS.iter().zip(&mut alone) {
            let mut took = Vec::new();
            for _ in 0..pages {
                took.push(page(&http, &address, list).await?);
            }
            costs.push(percentile(&took, 50) / 1e3);
        }
        let quiet = OtherLatencies::ask(client, &http, &address, asked).await?;
        let load = ListLoad::begin(&http, &address);
        context.env.runtime.sleep(BEGIN).await;
        let others = OtherLatencies::ask(client, &http, &address, asked).await;
        let done = load.end().await?;
        let others = others?;
        quiet_starts.push(percentile(&quiet.starts, 50) / 1e3);
        starts.push(percentile(&others.starts, 50) / 1e3);
        late_starts.push(percentile(&others.starts, 99) / 1e3);
        quiet_ready.push(percentile(&quiet.ready, 99) / 1e3);
        ready.push(percentile(&others.ready, 99) / 1e3);
        answered.push(done.answered);
        refused.push(done.refused);
    }
    server.stop().await?;

    let mut section = BenchSection::new(format!(
        "pages of 1,000 rows of {crowd} suspended workflows and what they wait for, one client, {pages} of each list; then \
         {asked} no-ops and as many `/ready` by one client, alone and while {CONNECTIONS} connections ask for these lists, \
         each for the next as soon as it has an answer or is refused. The clients share the machine's processors"
    ));
    for (list, costs) in LISTS.iter().zip(&alone) {
        section
            .measured(format!("GET /v1/{list}, p50"), "ms", costs)
            .goal(Goal::AtMost { must: 20.0, aim: 10.0 });
    }
    section.floor("`/ready` alone, p99", "ms", &quiet_ready);
    section
        .measured("`/ready` during the lists, p99", "ms", &ready)
        .goal(Goal::AtMost { must: 50.0, aim: 20.0 });
    section.floor("no-op alone, p50", "ms", &quiet_starts);
    section.measured("no-op during the lists, p50", "ms", &starts);
    section.measured("no-op during the lists, p99", "ms", &late_starts);
    section
        .ratio("no-op during the lists / alone", &starts, &quiet_starts)
        .goal(Goal::AtMost { must: 1.5, aim: 1.2 });
    section.measured("pages answered meanwhile", "/s", &answered);
    section.measured("pages refused with 503 meanwhile", "/s", &refused);
    Ok(section)
}

/// Requests one page and reads it completely; returns the duration in microseconds.
async fn page(http: &reqwest::Client, address: &str, list: &str) -> anyhow::Result<f64> {
    let stopwatch = Stopwatch::start();
    let answer = http.get(format!("{address}/v1/{list}")).send().await?;
    let status = answer.status();
    let body = answer.bytes().await?;
    ensure!(status.is_success(), "`{list}`: {status}, {}", String::from_utf8_lossy(&body));
    Ok(stopwatch.wall_us())
}

/// Latencies of requests other than lists, in microseconds.
#[derive(Default)]
struct OtherLatencies {
    starts: Vec<f64>,
    ready: Vec<f64>,
}

impl OtherLatencies {
    async fn ask(
        client: &Client,
        http: &reqwest::Client,
        address: &str,
        count: u32,
    ) -> anyhow::Result<Self> {
        let mut others = Self::default();
        for _ in 0..count {
            others.starts.push(invoke(client, &noop()).await?);
            let stopwatch = Stopwatch::start();
            let ready = http.get(format!("{address}/ready")).send().await?;
            ensure!(ready.status().is_success(), "`/ready`: {}", ready.status());
            others.ready.push(stopwatch.wall_us());
        }
        Ok(others)
    }
}

/// The connections that request lists until stopped.
struct ListLoad {
    count: Arc<ListCounts>,
    asking: JoinSet<anyhow::Result<()>>,
    stopwatch: Stopwatch,
}

#[derive(Default)]
struct ListCounts {
    enough: AtomicBool,
    answered: AtomicU64,
    refused: AtomicU64,
}

/// Pages per second, by result.
struct ListRates {
    answered: f64,
    refused: f64,
}

impl ListLoad {
    fn begin(http: &reqwest::Client, address: &str) -> Self {
        let count = Arc::new(ListCounts::default());
        let mut asking = JoinSet::new();
        for first in 0..CONNECTIONS {
            let (http, address, count) = (http.clone(), address.to_owned(), count.clone());
            asking.spawn(async move { ask(&http, &address, first, &count).await });
        }
        Self { count, asking, stopwatch: Stopwatch::start() }
    }

    async fn end(mut self) -> anyhow::Result<ListRates> {
        self.count.enough.store(true, Ordering::Relaxed);
        let seconds = self.stopwatch.wall_us() / 1e6;
        while let Some(ended) = self.asking.join_next().await {
            ended.context("a client panicked")??;
        }
        let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / seconds;
        Ok(ListRates { answered: rate(&self.count.answered), refused: rate(&self.count.refused) })
    }
}

/// Requests one list after the other; each connection begins with a different one.
async fn ask(
    http: &reqwest::Client,
    address: &str,
    first: usize,
    count: &ListCounts,
) -> anyhow::Result<()> {
    for list in LISTS.iter().cycle().skip(first % LISTS.len()) {
        if count.enough.load(Ordering::Relaxed) {
            break;
        }
        let answer = http.get(format!("{address}/v1/{list}")).send().await?;
        let status = answer.status();
        // Read the whole body, so that the connection can be reused.
        let body = answer.bytes().await?;
        match status {
            StatusCode::OK => count.answered.fetch_add(1, Ordering::Relaxed),
            StatusCode::SERVICE_UNAVAILABLE => count.refused.fetch_add(1, Ordering::Relaxed),
            other => anyhow::bail!("`{list}`: {other}, {}", String::from_utf8_lossy(&body)),
        };
    }
    Ok(())
}
