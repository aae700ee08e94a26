//! `segno demo`: prints the events while they happen, then the result.

use std::path::Path;

use clap::Args;
use comfy_table::Color as Ink;
use segno_demo::{
    example::{self, MODULE},
    scenario::{self, ScenarioOptions, ScenarioRun},
    verdict::OrderVerdict,
};
use segno_env::Env;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    CliError, Console, Exit,
    console::{BOLD, DIM, GREEN, RED},
    narrator::Narrator,
    replay,
    table::{TextCell, TextColumn, TextTable},
};

const INTERRUPTED: &str = "interrupted";

/// Build a workflow, run orders through it, kill the host in the middle, and check the result
///
/// Everything is real: the example `order` is built to WebAssembly (and a toolchain for that is
/// installed, if there is none), a payment service and a host run as separate processes, and the
/// host is killed with SIGKILL three times while twenty orders are being processed. Then the
/// payment service's ledger is checked, and one order's journal is replayed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno demo
  segno demo --seed 7 --keep          # the same draws again; leaves data, ledger and logs
  segno demo --json | jq .right

The exit code is 0 only if every order ended as it had to, with exactly one accepted charge each.")]
pub(super) struct DemoArgs {
    /// Seed of the random instants (default: a different one each time)
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Keep the data directory, the ledger and the logs
    #[arg(long)]
    keep: bool,
}

/// The answer as JSON.
#[derive(Serialize)]
struct DemoOutput<'a> {
    right: bool,
    #[serde(flatten)]
    run: &'a ScenarioRun,
    complaints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'a Path>,
}

impl DemoArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let env = Env::system();
        let narrator = Narrator::new(env.clone());
        let folder = tempfile::Builder::new()
            .prefix("segno-demo-")
            .tempdir()
            .map_err(|error| failed("make a folder", error))?;
        let binary =
            std::env::current_exe().map_err(|error| failed("find its own program", error))?;
        // Nothing else runs yet, so this may block the thread; Ctrl-C ends the process as usual.
        let component = example::build(folder.path(), &narrator)
            .map_err(|error| failed(&format!("build the example `{MODULE}`"), error))?;

        let seed = self.seed.unwrap_or_else(|| env.runtime.nonce() % 1_000_000);
        narrator.say(&format!("seed {seed}: `segno demo --seed {seed}` draws the same"));
        let options = ScenarioOptions { binary, folder: folder.path().into(), component, seed };
        let play = scenario::play(options, env, &narrator);
        // Dropping `play` kills every process that it started.
        let played = tokio::select! {
            biased;
            () = interrupted() => Err(interruption()),
            played = play => played.map_err(|error| failed("be played to its end", error)),
        };
        drop(narrator);
        let is_right = played.as_ref().is_ok_and(ScenarioRun::is_right);
        let is_interrupted = matches!(&played, Err(CliError::Other { code: INTERRUPTED, .. }));
        // All data is kept to find the cause of a failure.
        let keep = self.keep || !(is_right || is_interrupted);
        let kept = keep.then(|| folder.keep());
        if let Some(folder) = &kept {
            console.remark(&format!("data, ledger and logs are kept in {}", folder.display()));
        }
        let run = played?;
        if console.json() {
            let complaints = run.complaints();
            let folder = kept.as_deref();
            console.document(&DemoOutput { right: is_right, run: &run, complaints, folder })?;
        } else {
            show(&run, console)?;
        }
        Ok(if is_right { Exit::Done } else { Exit::Error })
    }
}

fn failed(what: &str, error: impl Into<anyhow::Error>) -> CliError {
    let message = format!("the demo could not {what}: {:#}", error.into());
    CliError::Other { code: "demo", message }
}

fn interruption() -> CliError {
    CliError::Other { code: INTERRUPTED, message: "interrupted; everything was cleaned up".into() }
}

/// Completes on Ctrl-C or SIGTERM.
async fn interrupted() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

fn show(run: &ScenarioRun, console: &mut Console) -> Result<(), CliError> {
    orders(run, console)?;
    console.line("")?;
    let replay = &run.replay;
    let order = console.paint(BOLD, &replay.id);
    console.line(format!(
        "The journal of {order}, replayed on its module without executing anything:"
    ))?;
    replay::show(&run.records, replay, console)?;
    console.line("")?;
    summary(run, console)
}

fn orders(run: &ScenarioRun, console: &mut Console) -> Result<(), CliError> {
    let mut table = TextTable::new(&[
        TextColumn::id("ORDER"),
        TextColumn::prose("OUTCOME"),
        TextColumn::number("CLAIMS").rank(1),
        TextColumn::number("REPLAYS").rank(2),
        TextColumn::number("CHARGE ATTEMPTS"),
        TextColumn::number("CHARGES"),
        TextColumn::number("REFUNDS"),
    ]);
    for order in &run.verdict.orders {
        let replays = run.replays.get(&order.order).copied().unwrap_or(0);
        table.row(row(order, replays));
    }
    console.line("")?;
    console.table(&table)
}

fn row(order: &OrderVerdict, replays: u32) -> Vec<TextCell> {
    let color = if order.wrong.is_empty() { Ink::Green } else { Ink::Red };
    let money = |number: u32| {
        TextCell::colored(number.to_string(), Some(Ink::Red).filter(|_| !order.wrong.is_empty()))
    };
    vec![
        TextCell::from(&order.order),
        TextCell::colored(order.outcome.clone(), Some(color)),
        TextCell::from(order.claims),
        TextCell::from(replays),
        TextCell::from(order.charge_requests),
        money(order.charges),
        money(order.refunds),
    ]
}

fn summary(run: &ScenarioRun, console: &mut Console) -> Result<(), CliError> {
    for complaint in run.complaints() {
        let cross = console.paint(RED.bold(), "✗");
        console.line(format!("{cross} {complaint}"))?;
    }
    let orders = &run.verdict.orders;
    let charges: u32 = orders.iter().map(|order| order.charges).sum();
    let refunds: u32 = orders.iter().map(|order| order.refunds).sum();
    let facts = format!(
        "{} orders, {} SIGKILLs, {charges} charges, {refunds} refunds, {} records replayed, {}.{} s",
        orders.len(),
        run.kills.len(),
        run.replay.matched,
        run.took_ms / 1_000,
        run.took_ms % 1_000 / 100,
    );
    let (mark, word) = match run.is_right() {
        true => (console.paint(GREEN.bold(), "✓"), "every order ended exactly once"),
        false => (console.paint(RED.bold(), "✗"), "not everything is as it must be"),
    };
    let seed = console.paint(DIM, &format!("(seed {})", run.seed));
    console.line(format!("{mark} {word}: {facts} {seed}"))
}
