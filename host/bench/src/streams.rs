//! Measures streams: items per second by one and by many writers, the host's CPU time for each, and
//! the delay until a reader has an item.

use anyhow::Context as _;
use segno_client::Client;
use segno_demo::server::{DemoServer, ServerOptions};
use tokio::task::JoinSet;

use super::{
    baseline::BaselineDatabase,
    context::BenchContext,
    http::CLIENTS,
    measure::{Stopwatch, cpu_of_us},
    report::{BenchSection, percentile},
};

/// Number of items in one request of a writer that gathers them.
const BATCH: u32 = 100;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    let alone = context.size(2_000, 40);
    let streams = context.size(1_000, 70);
    let each = context.size(20, 10);
    let requests = context.size(2_000, 100);
    let client = server.client().clone();
    client.create_stream("one").await?;
    for stream in 0..streams {
        client.create_stream(&format!("many/{stream}")).await?;
    }

    let (mut commit, mut latency, mut gathered, mut gathered_cpu) =
        (vec![], vec![], vec![], vec![]);
    let (mut rate, mut cpu, mut delay_50, mut delay_99) = (vec![], vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        let (mut bare, mut appends) = (vec![], vec![]);
        let begun = Stopwatch::start();
        let end = client.read_stream("one", "now", false).await?.next_offset;
        let mut reading = JoinSet::new();
        reading.spawn(delays(client.clone(), end, alone, begun));
        for _ in 0..alone {
            let stopwatch = Stopwatch::start();
            client.append_to_stream("one", format!("{:.0}", begun.wall_us())).await?;
            appends.push(stopwatch.wall_us());
            bare.push(commits.commit(&[1; 100]).await?);
        }
        let delays = reading.join_next().await.context("there is one reader")???;
        latency.push(percentile(&appends, 50));
        commit.push(percentile(&bare, 50));
        delay_50.push(percentile(&delays, 50));
        delay_99.push(percentile(&delays, 99));

        let batch = format!("[{}]", vec!["\"token\""; BATCH as usize].join(","));
        let (before, stopwatch) = (cpu_of_us(server.pid())?, Stopwatch::start());
        for _ in 0..requests {
            client.append_to_stream("one", batch.clone()).await?;
        }
        gathered.push(stopwatch.passed().rate(requests * BATCH));
        let used = cpu_of_us(server.pid())? - before;
        gathered_cpu.push(used / f64::from(requests * BATCH));

        let (before, stopwatch) = (cpu_of_us(server.pid())?, Stopwatch::start());
        write_many(&client, streams, each).await?;
        let count = streams * each;
        rate.push(stopwatch.passed().rate(count));
        cpu.push((cpu_of_us(server.pid())? - before) / f64::from(count));
    }
    commits.close().await?;
    server.stop().await?;

    let mut section = BenchSection::new(format!(
        "appends over HTTP to a host in a process of its own: {alone} messages to one stream, one a request, in turns \
         with the floor and followed by a reader; then {BATCH} a request; then {streams} streams with {each} messages \
         each, one a request, by {CLIENTS} clients. The client's own work is in all figures but CPU time"
    ));
    section.floor("bare SQLite FULL commit, p50", "µs", &commit);
    section.measured("one append, p50", "µs", &latency);
    section.ratio("one append / commit", &latency, &commit);
    section.measured("from the request of a writer to a reader, p50", "µs", &delay_50);
    section.measured("from the request of a writer to a reader, p99", "µs", &delay_99);
    section.measured(format!("items of one stream, {BATCH} a request"), "/s", &gathered);
    section.measured("  = CPU time of the host for one", "µs", &gathered_cpu);
    section.measured(format!("items of {streams} streams, {CLIENTS} clients"), "/s", &rate);
    section.measured("  = CPU time of the host for one", "µs", &cpu);
    Ok(section)
}

/// Follows a stream for `count` items, each of which is the instant at which it was sent. Returns
/// the delays in microseconds.
async fn delays(
    client: Client,
    mut offset: String,
    count: u32,
    begun: Stopwatch,
) -> anyhow::Result<Vec<f64>> {
    let mut delays = Vec::with_capacity(count as usize);
    while delays.len() < count as usize {
        let data = client.read_stream("one", &offset, true).await?;
        let now = begun.wall_us();
        if !data.body.is_empty() {
            let sent: Vec<f64> = serde_json::from_slice(&data.body)?;
            delays.extend(sent.iter().map(|sent| now - sent));
        }
        offset = data.next_offset;
    }
    Ok(delays)
}

/// Appends `each` messages to each of the streams, by many clients.
async fn write_many(client: &Client, streams: u32, each: u32) -> anyhow::Result<()> {
    let mut writing = JoinSet::new();
    for writer in 0..CLIENTS {
        let client = client.clone();
        writing.spawn(async move {
            for stream in (writer..streams).step_by(CLIENTS as usize) {
                for _ in 0..each {
                    let name = format!("many/{stream}");
                    client.append_to_stream(&name, "\"token\"".to_owned()).await?;
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = writing.join_next().await {
        ended.context("a writer panicked")??;
    }
    Ok(())
}
