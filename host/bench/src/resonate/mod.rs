//! Measures external workers: the Resonate protocol as spoken by released clients, over real HTTP
//! and a real stream, with a host in a separate process.
//!
//! - `wire`: envelopes and streams;
//! - `worker`: a worker with the measured functions;
//! - `client`: a client that waits for outcomes;
//! - `takeover`: a worker that is killed.

mod client;
mod takeover;
mod wire;
mod worker;

use anyhow::Context as _;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::json;
use tokio::task::JoinSet;

use self::{client::ResonateClient, wire::ResonateConnection, worker::ResonateWorker};
use super::{
    baseline::BaselineDatabase,
    context::BenchContext,
    measure::{Stopwatch, cpu_of_us},
    report::{BenchSection, Goal, percentile},
};

pub use takeover::hold;

/// Numbers of concurrent connections.
const CONNECTIONS: [u32; 3] = [1, 8, 32];
/// A promise without a deadline.
const NEVER: i64 = 9_000_000_000_000;
/// Number of round trips, each with a commit, of a one-step workflow: through `run`, and through
/// `rpc`.
const TRIPS: [f64; 2] = [4.0, 5.0];

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let workflows = context.size(300, 10);
    let each = context.size(2_000, 50);
    let takeovers = context.size(3, 1);
    let mut section = BenchSection::new(format!(
        "The Resonate protocol against a host in a process of its own: {each} promises made and settled by each of \
         {CONNECTIONS:?} connections; then {workflows} workflows of one step, one after the other, in turns with the floors, \
         by a worker and a client in this process. `run`: {} round trips and a message, `rpc`: {} and two messages; each \
         round trip commits. Then fibonacci(8), whose 67 calls are all remote, and workers that are killed",
        TRIPS[0], TRIPS[1]
    ));
    let place = context.place()?;
    let options = ServerOptions::within(place.path(), &context.binary)?;
    let server = DemoServer::start(options, context.env.clone()).await?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    promises(context, &server, each, &mut section).await?;
    let url = server.client().server();
    let mut workers = JoinSet::new();
    let worker = ResonateWorker::start(&url, "here", &mut workers).await?;
    let mut client = ResonateClient::start(&url).await?;
    steps(context, &server, &worker, &mut client, &mut commits, workflows, &mut section).await?;

    let mut fibonacci = Vec::new();
    for n in 0..context.repetitions * 3 {
        let stopwatch = Stopwatch::start();
        let value = client.rpc(&format!("fib-{n}"), "fibonacci", 8).await?;
        anyhow::ensure!(value == json!(21), "fibonacci(8) came to {value}");
        fibonacci.push(stopwatch.wall_us() / 1_000.0);
    }
    let goal = Goal::AtMost { must: 150.0, aim: 150.0 };
    section.measured("fibonacci(8), every call remote", "ms", &fibonacci).goal(goal);
    workers.shutdown().await;
    commits.close().await?;
    server.stop().await?;

    for (name, arguments) in [("the default grace", &[][..]), ("grace 0", &["--grace-s", "0"][..])]
    {
        let mut took = Vec::new();
        for _ in 0..takeovers {
            took.push(takeover::measure(context, arguments).await?);
        }
        let figure = format!("SIGKILL of a worker to the first step elsewhere, {name}");
        section.measured(figure, "ms", &took);
    }
    Ok(section)
}

/// Measures promises created and settled over several concurrent connections.
async fn promises(
    context: &BenchContext,
    server: &DemoServer,
    each: u32,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let url = server.client().server();
    for connections in CONNECTIONS {
        let (mut rate, mut cpu) = (vec![], vec![]);
        for repetition in 0..context.repetitions {
            let cpu_before = cpu_of_us(server.pid())?;
            let stopwatch = Stopwatch::start();
            let mut running = JoinSet::new();
            // Keep the total work similar.
            let each = each / connections.min(8);
            for connection in 0..connections {
                let wire = ResonateConnection::new(&url)?;
                running.spawn(async move {
                    for n in 0..each {
                        let id = format!("p-{connections}-{repetition}-{connection}-{n}");
                        wire.done("promise.create", json!({ "id": id, "timeoutAt": NEVER }))
                            .await?;
                        let settle = json!({ "id": id, "state": "resolved", "value": {} });
                        wire.done("promise.settle", settle).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(ended) = running.join_next().await {
                ended.context("a connection panicked")??;
            }
            let operations = 2 * connections * each;
            rate.push(stopwatch.passed().rate(operations));
            cpu.push((cpu_of_us(server.pid())? - cpu_before) / f64::from(operations));
        }
        let plural = if connections == 1 { "" } else { "s" };
        section.measured(
            format!("create and settle, {connections} connection{plural}"),
            "/s",
            &rate,
        );
        section.measured(
            format!("the host's CPU time of one, {connections} connection{plural}"),
            "µs",
            &cpu,
        );
    }
    Ok(())
}

/// Measures workflows of one step, alternating with the baselines.
async fn steps(
    context: &BenchContext,
    server: &DemoServer,
    worker: &ResonateWorker,
    client: &mut ResonateClient,
    commits: &mut BaselineDatabase,
    workflows: u32,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    let [mut run50, mut run99, mut rpc50, mut rpc99] = [const { Vec::new() }; 4];
    let [mut trip, mut commit, mut run_floor, mut rpc_floor] = [const { Vec::new() }; 4];
    for n in 0..20 {
        client.run(worker, &format!("warm-run-{n}"), "step", 1).await?;
        client.rpc(&format!("warm-rpc-{n}"), "step", 1).await?;
    }
    for repetition in 0..context.repetitions {
        let [mut runs, mut rpcs, mut trips, mut bare] = [const { Vec::new() }; 4];
        for n in 0..workflows {
            let stopwatch = Stopwatch::start();
            client.run(worker, &format!("run-{repetition}-{n}"), "step", 1).await?;
            runs.push(stopwatch.wall_us());
            let stopwatch = Stopwatch::start();
            client.rpc(&format!("rpc-{repetition}-{n}"), "step", 1).await?;
            rpcs.push(stopwatch.wall_us());
            let stopwatch = Stopwatch::start();
            server.client().health().await?;
            trips.push(stopwatch.wall_us());
            bare.push(commits.commit(&[1; 100]).await?);
        }
        let floor = percentile(&trips, 50) + percentile(&bare, 50);
        run50.push(percentile(&runs, 50));
        run99.push(percentile(&runs, 99));
        rpc50.push(percentile(&rpcs, 50));
        rpc99.push(percentile(&rpcs, 99));
        trip.push(percentile(&trips, 50));
        commit.push(percentile(&bare, 50));
        run_floor.push(TRIPS[0] * floor);
        rpc_floor.push(TRIPS[1] * floor);
    }
    let at_most = |limit| Goal::AtMost { must: limit, aim: limit };
    section.measured("one step through `run`, p50", "µs", &run50).goal(at_most(4_000.0));
    section.measured("one step through `run`, p99", "µs", &run99);
    section.measured("one step through `rpc`, p50", "µs", &rpc50).goal(at_most(6_000.0));
    section.measured("one step through `rpc`, p99", "µs", &rpc99);
    section.floor("bare HTTP round trip (/health), p50", "µs", &trip);
    section.floor("bare SQLite FULL commit, p50", "µs", &commit);
    section.ratio("run p50 / its 4 round trips and commits", &run50, &run_floor);
    section.ratio("rpc p50 / its 5 round trips and commits", &rpc50, &rpc_floor);
    Ok(())
}
