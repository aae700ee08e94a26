//! `segno bench`: measures the cost of the host relative to the cost of the machine.
//!
//! Every scenario measures its baseline (the bare disk, the bare database, the bare guest) in the
//! same run, alternating with the host: a single figure from a shared machine means little, but the
//! ratio of two figures measured together is meaningful. A running host does not use this crate.

#![forbid(unsafe_code)]

pub mod report;

mod comparison;

mod machine;
mod measure;

mod baseline;

mod bare_guest;
mod context;
mod harness;
mod store_only;
mod streams;

mod check;
mod cold_start;
mod cpu_fairness;
mod databases;
mod dbos;
mod disk;
mod fan;
mod graphs;
mod http;
mod languages;
mod limits;
mod lists;
mod long;
mod memory;
mod objects;
mod overload;
mod peers;
mod programs;
mod replay;
mod resonate;
mod restate;
mod resume;
mod starts;
mod steps;
mod suspended_fixture;
mod temporary_schema;
mod throughput;
mod timers;
mod values;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::ValueEnum;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

pub use comparison::{BenchComparison, ComparedFigure, compare};
pub use resonate::hold;

use segno_env::Env;

use self::{
    context::BenchContext,
    report::{BenchReport, BenchSection},
};

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum BenchScenario {
    /// Invocations over HTTP: no-ops, steps and activities, by 1 and by 64 clients
    #[value(alias = "noop")]
    Http,
    /// Durable steps of one workflow, one after the other
    Steps,
    /// Durable steps of 1,000 workflows at once
    #[value(alias = "throughput")]
    Throughput,
    /// Replay of journals
    Replay,
    /// Memory of a host: idle, under small invocations, and after them
    #[value(alias = "idle")]
    Memory,
    /// Bytes that a step adds on disk
    Disk,
    /// Starts of workflows that end at once
    Starts,
    /// Children started at once and waited for
    Fan,
    /// Graphs of up to 100,000 nodes, next to plain calls
    Graphs,
    /// Calls of objects, of one key and of many, next to plain calls
    Objects,
    /// Executions behind limits, and up to a million that wait there
    Limits,
    /// Workflows that wake up within one second
    Timers,
    /// Resuming a suspended workflow, warm and by replay
    Resume,
    /// Continuing a workflow of a million records
    Long,
    /// Appends to one stream and to 1,000, and the delay to a reader
    Streams,
    /// A conversation with a model, each call of which carries all of it
    Values,
    /// No-ops beside guests that compute without a pause
    #[value(alias = "fairness")]
    Fairness,
    /// Ten times more starts than a host can process
    Overload,
    /// Start of a host with a million suspended workflows
    #[value(alias = "cold-start")]
    ColdStart,
    /// Costly lists of 200,000 workflows, and their effect on other requests
    Lists,
    /// A check of 10,000 workflows in flight on another module, and its effect on other requests
    Check,
    /// External workers, by the Resonate protocol
    Resonate,
    /// Services, next to bare calls of them, and to the server of --restate-server
    Restate,
    /// Modules in TypeScript and Python, next to one in Rust
    Languages,
    /// One, two and three hosts on the PostgreSQL database of --postgres
    Peers,
    /// A store in one, two and four databases, schemas of those that --postgres names
    Databases,
    /// A host on the PostgreSQL database of --postgres, next to DBOS on the same database
    Dbos,
}

/// Options of a benchmark.
#[derive(Clone)]
pub struct BenchOptions {
    /// The scenarios, in order of execution.
    pub scenarios: Vec<BenchScenario>,
    /// True for small sizes, for a first look and for tests.
    pub quick: bool,
    /// Number of repetitions of each scenario.
    pub repetitions: usize,
    /// Directory for data; its disk is the one that is measured. `None`: the directory for
    /// temporary files.
    pub folder: Option<PathBuf>,
    /// Address of a PostgreSQL database, for the scenario that needs one.
    pub postgres: Option<String>,
    /// Path of Restate's server, for the scenario that compares with it.
    pub restate_server: Option<PathBuf>,
    /// Path of the command `segno`, for scenarios with a separate host process.
    pub binary: PathBuf,
}

/// Runs the scenarios, and reports each one through `say`.
///
/// # Errors
/// Fails if a scenario failed for a reason other than speed; there are then no figures.
pub async fn bench(
    options: BenchOptions,
    env: Env,
    say: &(dyn Fn(String) + Sync),
) -> anyhow::Result<BenchReport> {
    let scenarios = options.scenarios.clone();
    let context = Arc::new(BenchContext::new(options, env)?);
    let mut conditions = machine::conditions(&context);
    let mut sections = Vec::with_capacity(scenarios.len());
    for scenario in scenarios {
        let name =
            scenario.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
        say(format!("measuring `{name}`"));
        measure::forget_peak()?;
        let mut section = run(scenario, &context)
            .await
            .map_err(|error| error.context(format!("the scenario `{name}` failed")))?;
        let peak = measure::peak_mb(std::process::id())?;
        section.measured("most memory of this process", "MB", &[peak]);
        sections.push(BenchSection { scenario: name, ..section });
    }
    conditions.load_after = machine::load();
    Ok(BenchReport { conditions, sections })
}

/// A scenario as a function of the context.
type Run = for<'a> fn(&'a BenchContext) -> BoxFuture<'a, anyhow::Result<BenchSection>>;

async fn run(scenario: BenchScenario, context: &Arc<BenchContext>) -> anyhow::Result<BenchSection> {
    let run: Run = match scenario {
        BenchScenario::Http => return http::run(context).await,
        BenchScenario::Resonate => return resonate::run(context).await,
        BenchScenario::Restate => return restate::run(context).await,
        BenchScenario::Languages => return languages::run(context).await,
        BenchScenario::Dbos => return dbos::run(context).await,
        BenchScenario::Databases => return databases::run(context).await,
        BenchScenario::Memory => return memory::run(context).await,
        BenchScenario::ColdStart => return cold_start::run(context).await,
        BenchScenario::Lists => return lists::run(context).await,
        BenchScenario::Streams => return streams::run(context).await,
        BenchScenario::Values => return values::run(context).await,
        BenchScenario::Check => return check::run(context).await,
        BenchScenario::Limits => return limits::run(context).await,
        BenchScenario::Fairness => return cpu_fairness::run(context).await,
        BenchScenario::Overload => return overload::run(context).await,
        BenchScenario::Steps => |context| steps::run(context).boxed(),
        BenchScenario::Throughput => |context| throughput::run(context).boxed(),
        BenchScenario::Replay => |context| replay::run(context).boxed(),
        BenchScenario::Disk => |context| disk::run(context).boxed(),
        BenchScenario::Starts => |context| starts::run(context).boxed(),
        BenchScenario::Fan => |context| fan::run(context).boxed(),
        BenchScenario::Graphs => |context| graphs::run(context).boxed(),
        BenchScenario::Long => |context| long::run(context).boxed(),
        BenchScenario::Objects => |context| objects::run(context).boxed(),
        BenchScenario::Timers => |context| timers::run(context).boxed(),
        BenchScenario::Resume => |context| resume::run(context).boxed(),
        BenchScenario::Peers => |context| peers::run(context).boxed(),
    };
    // On the runtime's worker threads, like the host's work: a busy machine wakes the main thread
    // later than those, which would make the baselines look slower than they are.
    let context = context.clone();
    let mut measuring = JoinSet::new();
    measuring.spawn(async move { run(&context).await });
    measuring.join_next().await.context("there is one task")??
}
