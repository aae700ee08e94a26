//! Measures a takeover: a worker in a separate process is killed while it holds a task, and one in
//! this process continues it.

use std::process::Command;

use anyhow::Context as _;
use segno_core::time::Millis;
use segno_demo::{
    process::Process,
    server::{DemoServer, ServerOptions},
};
use segno_env::Env;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    super::{context::BenchContext, measure::Stopwatch},
    client::ResonateClient,
    wire::ResonateConnection,
    worker::{GROUP, ResonateWorker, call},
};

/// Name of the worker that is killed.
const DOOMED: &str = "doomed";
/// Interval between reads of a task that is about to be claimed.
const LOOK_EVERY: Millis = Millis(2);
/// Time limit for claiming the task.
const ACQUIRE_TIMEOUT: Millis = Millis::seconds(30);

/// Milliseconds from the SIGKILL of a worker until another has completed a step of its task.
pub(super) async fn measure(context: &BenchContext, arguments: &[&str]) -> anyhow::Result<f64> {
    let place = context.place()?;
    let mut options = ServerOptions::within(place.path(), &context.binary)?;
    options.arguments = arguments.iter().map(ToString::to_string).collect();
    let server = DemoServer::start(options, context.env.clone()).await?;
    let url = server.client().server();
    let mut command = Command::new(&context.binary);
    command.args(["bench", "--hold", &url]);
    let doomed = Process::start("worker", command, &place.path().join("worker.log"))?;
    let mut client = ResonateClient::start(&url).await?;
    let wire = ResonateConnection::new(&url)?;
    wire.done("promise.create", call("work", "step", 1, "work", "work")).await?;
    let taken = async {
        while client.state("work").await? != "acquired" {
            context.env.runtime.sleep(LOOK_EVERY).await;
        }
        anyhow::Ok(())
    };
    context.env.within(ACQUIRE_TIMEOUT, taken).await.context("no worker acquired the task")??;
    let mut workers = JoinSet::new();
    let _heir = ResonateWorker::start(&url, "heir", &mut workers).await?;
    let stopwatch = Stopwatch::start();
    doomed.kill()?;
    let value = client.outcome_of("work").await?;
    let took = stopwatch.wall_us() / 1_000.0;
    anyhow::ensure!(value == json!(2), "the step came to {value}");
    workers.shutdown().await;
    server.stop().await?;
    Ok(took)
}

/// Claims every offered task and holds it without working on it, until killed.
///
/// # Errors
/// Fails if the host cannot be reached, or if it closes the stream.
pub async fn hold(url: &str, env: &Env) -> anyhow::Result<()> {
    let wire = ResonateConnection::new(url)?;
    let mut messages = wire.listen(GROUP, DOOMED).await?;
    loop {
        let beat = env.runtime.sleep(Millis(1_000));
        tokio::select! {
            biased;
            message = messages.next() => {
                let task = &message?["data"]["task"];
                let (id, version) = (&task["id"], &task["version"]);
                let data = json!({ "id": id, "version": version, "pid": DOOMED, "ttl": 60_000 });
                wire.ask("task.acquire", data).await?;
            }
            () = beat => drop(wire.ask("task.heartbeat", json!({ "pid": DOOMED, "tasks": [] })).await?),
        }
    }
}
