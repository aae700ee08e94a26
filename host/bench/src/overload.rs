//! Sends more requests than a host can process: measures refusals, accepted work, and memory.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use reqwest::{StatusCode, header};
use rustix::process::{Resource, getrlimit, setrlimit};
use segno_api::model::InvocationState;
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    measure::{Stopwatch, peak_mb},
    report::{BenchSection, Goal},
};

/// Number of clients that saturate a host.
const ENOUGH: u32 = 350;
/// Number of clients in the overload. Each sends its next start as soon as the last one is
/// answered, with any answer.
const TOO_MANY: u32 = 10 * ENOUGH;
/// Size of a label on each start, in bytes. The host keeps the label in memory until it is written.
const LABEL: usize = 2_048;
/// Time limit for the end of accepted starts.
const END_TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    allow_files()?;
    let length = Millis(context.size(10_000, 1_000));
    let (mut taken, mut refused, mut enough_taken) = (vec![], vec![], vec![]);
    let (mut advised, mut ended) = (vec![], vec![]);
    let (mut enough_mb, mut much_mb) = (vec![], vec![]);
    for _ in 0..context.repetitions.min(3) {
        let (enough, enough_peak) = flood(context, ENOUGH, length).await?;
        let (much, much_peak) = flood(context, TOO_MANY, length).await?;
        enough_taken.push(enough.taken);
        taken.push(much.taken);
        refused.push(much.refused);
        advised.push(much.advised);
        ended.push(much.ended);
        enough_mb.push(enough_peak);
        much_mb.push(much_peak);
    }
    let mut section = BenchSection::new(format!(
        "starts over HTTP of workflows that do nothing, with {LABEL} bytes of labels, against a host in a process of its own, for {} s: {TOO_MANY} clients, \
         each of which sends the next start as soon as the last is answered, refused or not; next to {ENOUGH} clients on \
         another host. Everything that was taken has to end",
        length.0 / 1_000
    ));
    section.measured("starts taken, too many clients", "/s", &taken);
    section.floor("starts taken, a tenth of the clients", "/s", &enough_taken);
    section
        .ratio("taken by too many / by a tenth", &taken, &enough_taken)
        .goal(Goal::AtLeast { must: 0.5, aim: 0.8 });
    section.measured("starts refused with 503", "/s", &refused);
    section
        .measured("refusals that say when to come again", "%", &advised)
        .goal(Goal::AtLeast { must: 100.0, aim: 100.0 });
    section
        .measured("of what was taken, ended", "%", &ended)
        .goal(Goal::AtLeast { must: 100.0, aim: 100.0 });
    section.measured("most memory of the host, too many clients", "MB", &much_mb);
    section.floor("most memory of the host, a tenth of the clients", "MB", &enough_mb);
    section
        .ratio("memory, too many / a tenth", &much_mb, &enough_mb)
        .goal(Goal::AtMost { must: 1.25, aim: 1.1 });
    Ok(section)
}

/// Raises the limit of open files of this process, and of the host it starts, to one per client.
fn allow_files() -> anyhow::Result<()> {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).context("cannot raise the limit of open files")?;
    let enough = files.current.is_none_or(|files| files > 2 * u64::from(TOO_MANY));
    ensure!(
        enough,
        "{TOO_MANY} clients need more files than this process may open: raise `ulimit -n`"
    );
    Ok(())
}

/// The result of a flood of starts.
struct FloodResult {
    /// Accepted starts per second.
    taken: f64,
    /// Refused starts per second.
    refused: f64,
    /// Percentage of refusals with a `Retry-After`.
    advised: f64,
    /// Percentage of accepted starts that succeeded.
    ended: f64,
}

#[derive(Default)]
struct FloodCounts {
    enough: AtomicBool,
    refused: AtomicU64,
    advised: AtomicU64,
    taken: Mutex<Vec<String>>,
}

async fn flood(
    context: &BenchContext,
    clients: u32,
    length: Millis,
) -> anyhow::Result<(FloodResult, f64)> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let client = server.client().clone();
    client.deploy(context.component.to_vec(), Some("bench")).await?;
    let count = Arc::new(FloodCounts::default());
    let http = segno_env::http_client(segno_env::Proxies::None).build()?;
    let stopwatch = Stopwatch::start();
    let mut flooding = JoinSet::new();
    for number in 0..clients {
        let (http, count) = (http.clone(), count.clone());
        let address = format!("{}/v1/invocations", client.server());
        flooding.spawn(async move { send(&http, &address, number, &count).await });
    }
    context.env.runtime.sleep(length).await;
    count.enough.store(true, Ordering::Relaxed);
    while let Some(ended) = flooding.join_next().await {
        ended.context("a client panicked")??;
    }
    let seconds = stopwatch.wall_us() / 1e6;
    let taken = std::mem::take(&mut *count.taken.lock().unwrap_or_else(PoisonError::into_inner));
    let ended = ended(&client, &taken).await?;
    let peak = peak_mb(server.pid())?;
    server.stop().await?;
    let (refused, advised) = (
        count.refused.load(Ordering::Relaxed) as f64,
        count.advised.load(Ordering::Relaxed) as f64,
    );
    let flood = FloodResult {
        taken: taken.len() as f64 / seconds,
        refused: refused / seconds,
        advised: if refused > 0.0 { advised * 100.0 / refused } else { 100.0 },
        ended: ended * 100.0,
    };
    Ok((flood, peak))
}

/// Sends starts one after the other until stopped.
async fn send(
    http: &reqwest::Client,
    address: &str,
    client: u32,
    count: &FloodCounts,
) -> anyhow::Result<()> {
    let label = "x".repeat(LABEL);
    for number in 0_u32.. {
        if count.enough.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("flood-{client}-{number}");
        let start = json!({ "id": id, "target": "bench/noop", "labels": { "text": label } });
        let sent = http.post(address).json(&start).send().await;
        let answer = sent.context("a start got no answer")?;
        let advised = answer.headers().contains_key(header::RETRY_AFTER);
        match answer.status() {
            StatusCode::CREATED => {
                count.taken.lock().unwrap_or_else(PoisonError::into_inner).push(id);
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                count.refused.fetch_add(1, Ordering::Relaxed);
                count.advised.fetch_add(u64::from(advised), Ordering::Relaxed);
            }
            other => anyhow::bail!("a start was answered {other}: {}", answer.text().await?),
        }
        // Read the rest of the body, so that the connection can be reused.
    }
    Ok(())
}

/// The fraction of these invocations that succeed.
async fn ended(client: &Client, ids: &[String]) -> anyhow::Result<f64> {
    ensure!(!ids.is_empty(), "nothing was taken");
    let mut well = 0_usize;
    for id in ids {
        let outcome = client.wait(id, END_TIMEOUT).await?;
        well += usize::from(outcome.state == InvocationState::Resolved);
    }
    Ok(well as f64 / ids.len() as f64)
}
