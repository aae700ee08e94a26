//! Measures DBOS, a library for durable workflows in Python, and a host on the same PostgreSQL
//! database. DBOS runs in a separate process, which also executes its clients; a host's clients are
//! in this process and use HTTP.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use segno_demo::server::{DemoServer, ServerOptions};
use serde::Deserialize;

use super::{
    context::BenchContext,
    http::{CLIENTS, LONG, NOOP, STEPS, Workload, WorkloadFigures, invoke},
    measure::resident_mb,
    programs::finished,
    report::{BenchSection, Goal},
    temporary_schema::TemporarySchema,
};

/// The program that runs the workflows of DBOS.
const PROGRAM: &str = include_str!("../languages/dbos.py");
const PROGRAM_FILE: &str = "measure.py";

/// The figures of one run of DBOS, as its program prints them.
#[derive(Deserialize)]
struct DbosRun {
    version: String,
    /// Latency of a no-op of one client, in microseconds.
    p50: f64,
    p99: f64,
    /// Workflows per second with many clients, and CPU time of one in microseconds.
    noops: f64,
    noop_cpu: f64,
    three_steps: f64,
    three_steps_cpu: f64,
    /// Time of one step of a long workflow, in microseconds.
    step: f64,
    /// Peak resident memory, in megabytes.
    memory_mb: f64,
}

/// Sizes of one repetition.
struct RunSizes {
    /// No-ops of one client.
    alone: u32,
    /// Workflows of each of many clients.
    each: u32,
    /// Steps of the long workflow.
    long: u32,
}

/// The figures of the host, one value per repetition.
#[derive(Default)]
struct HostFigures {
    noop: WorkloadFigures,
    steps: WorkloadFigures,
    step: Vec<f64>,
    memory: Vec<f64>,
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let mut schema = TemporarySchema::new(context).await?;
    let measured = measure(context, &mut schema).await;
    let dropped = schema.drop().await;
    measured.and_then(|section| dropped.map(|()| section))
}

async fn measure(
    context: &BenchContext,
    schema: &mut TemporarySchema,
) -> anyhow::Result<BenchSection> {
    let commits = schema.commits().await?;
    let sizes = context.size(
        RunSizes { alone: 200, each: 50, long: LONG },
        RunSizes { alone: 20, each: 2, long: 20 },
    );
    let place = context.place()?;
    let installed = install(place.path())?;
    let mut options = ServerOptions::within(place.path(), &context.binary)?;
    options.environment.push(("SEGNO_STORE".to_owned(), schema.address.clone()));
    let server = DemoServer::start(options, context.env.clone()).await?;
    server.client().deploy(context.component.to_vec(), Some("bench")).await?;
    let (mut ours, mut theirs) = (HostFigures::default(), Vec::new());
    for workload in [NOOP, STEPS] {
        for _ in 0..20 {
            invoke(server.client(), &workload.start(workload.size)).await?;
        }
    }
    for _ in 0..context.repetitions {
        theirs.push(dbos(context, schema, &installed, &sizes)?);
        ours.measure(&server, &sizes).await?;
    }
    server.stop().await?;

    let version = theirs.first().map_or("", |run| &run.version);
    let RunSizes { alone, each, long } = sizes;
    let mut section = BenchSection::new(format!(
        "workflows on one PostgreSQL database: by a host over HTTP, and by DBOS {version} in the process of its clients; {alone} \
         no-ops by one client, {CLIENTS} clients with {each} no-ops and {each} workflows of three steps each, and one \
         workflow of {long} steps. CPU times are without the database's, and DBOS's include its clients. {commits}"
    ));
    let less = Goal::AtMost { must: 1.0, aim: 1.0 };
    let more = Goal::AtLeast { must: 1.0, aim: 5.0 };
    type Theirs = fn(&DbosRun) -> f64;
    let rows: [(&str, &'static str, &[f64], Theirs, Goal); 8] = [
        ("no-op, 1 client, p50", "µs", &ours.noop.p50, |run| run.p50, less),
        ("no-op, 1 client, p99", "µs", &ours.noop.p99, |run| run.p99, less),
        ("no-ops, 64 clients", "/s", &ours.noop.crowd.rate, |run| run.noops, more),
        ("CPU time of a no-op, 64 clients", "µs", &ours.noop.crowd.cpu, |run| run.noop_cpu, less),
        ("three steps, 64 clients", "/s", &ours.steps.crowd.rate, |run| run.three_steps, more),
        (
            "CPU time of three steps, 64 clients",
            "µs",
            &ours.steps.crowd.cpu,
            |run| run.three_steps_cpu,
            less,
        ),
        ("a step of a long workflow", "µs", &ours.step, |run| run.step, less),
        ("memory after the work", "MB", &ours.memory, |run| run.memory_mb, less),
    ];
    for (name, unit, own, other, goal) in rows {
        let other: Vec<f64> = theirs.iter().map(other).collect();
        section.measured(name, unit, own);
        section.floor(format!("{name}, DBOS"), unit, &other);
        section.ratio(format!("{name} / DBOS"), own, &other).goal(goal);
    }
    Ok(section)
}

/// Installs DBOS from the package index into an environment of its own, with the program. Returns its
/// folder.
fn install(within: &Path) -> anyhow::Result<PathBuf> {
    let folder = within.join("dbos");
    finished(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join("bin/python3");
    finished(Command::new(&python).args(["-m", "pip", "install", "--quiet", "dbos"]))?;
    std::fs::write(folder.join(PROGRAM_FILE), PROGRAM)?;
    Ok(folder)
}

/// Measures DBOS once, on tables of its own in a schema that is removed.
fn dbos(
    context: &BenchContext,
    schema: &TemporarySchema,
    installed: &Path,
    sizes: &RunSizes,
) -> anyhow::Result<DbosRun> {
    let address = context.postgres.as_deref().context("the schema is in a database")?;
    let mut command = Command::new(installed.join("bin/python3"));
    command
        .arg(installed.join(PROGRAM_FILE))
        .arg(format!("{}_dbos", schema.name))
        .env("DBOS_SYSTEM_DATABASE_URL", address);
    for size in [sizes.alone, CLIENTS, sizes.each, sizes.long] {
        command.arg(size.to_string());
    }
    let output = finished(&mut command)?;
    let last = output.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(last).context("the program of DBOS prints its figures")
}

impl HostFigures {
    async fn measure(&mut self, server: &DemoServer, sizes: &RunSizes) -> anyhow::Result<()> {
        let client = server.client();
        let start = |workload: &Workload| workload.start(workload.size);
        let mut latencies = Vec::new();
        for _ in 0..sizes.alone {
            latencies.push(invoke(client, &start(&NOOP)).await?);
        }
        self.noop.alone(&latencies);
        self.noop.crowd.measure(server, &start(&NOOP), CLIENTS, sizes.each).await?;
        self.steps.crowd.measure(server, &start(&STEPS), CLIENTS, sizes.each).await?;
        let took = invoke(client, &STEPS.start(sizes.long)).await?;
        self.step.push(took / f64::from(sizes.long));
        self.memory.push(resident_mb(server.pid())?);
        Ok(())
    }
}
