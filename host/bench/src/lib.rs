//! `segno bench`: what the host costs, next to what the machine costs.
//!
//! Every scenario measures its floor (the bare disk, the bare database, the bare guest) in the same run and in turns
//! with itself, because a figure of a shared machine means little and a ratio of two that were measured together means
//! a lot. Nothing here is used by a running host.

pub mod report;

mod machine;
mod measure;

mod floor;

mod bed;
mod setting;
mod stored;
mod straight;

mod asleep;
mod crowd;
mod disk;
mod fair;
mod fan;
mod idle;
mod lists;
mod long;
mod noop;
mod overload;
mod peers;
mod replay;
mod resonate;
mod resume;
mod sleepers;
mod starts;
mod steps;
mod timers;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::ValueEnum;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

pub use resonate::hold;

use self::{
    report::{Report, Section},
    setting::Setting,
};
use segno_env::Env;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Scenario {
    /// Invocations over HTTP that do nothing, by 1 and by 64 clients
    Noop,
    /// Durable steps of one workflow, one after the other
    Steps,
    /// Durable steps of 1,000 workflows at once
    Crowd,
    /// Journals replayed
    Replay,
    /// Memory of a host that has nothing to do
    Idle,
    /// Bytes that a step leaves on the disk
    Disk,
    /// Workflows that begin and end at once
    Starts,
    /// Children started at once and waited for
    Fan,
    /// Workflows that wake up within one second
    Timers,
    /// Resuming a suspended workflow, warm and by replay
    Resume,
    /// A workflow of a million records, gone on with
    Long,
    /// No-ops beside guests that compute all the time
    Fair,
    /// Ten times more starts than a host can take
    Overload,
    /// A host started on a million suspended workflows
    Asleep,
    /// Costly lists of 200,000 workflows, and what others notice of them
    Lists,
    /// Workers outside, by the Resonate protocol
    Resonate,
    /// One, two and three hosts on the PostgreSQL that --postgres names
    Peers,
}

/// How to measure.
#[derive(Clone)]
pub struct BenchOptions {
    /// What; in this order.
    pub scenarios: Vec<Scenario>,
    /// Small sizes, for a look and for tests.
    pub quick: bool,
    /// How often each scenario is run.
    pub repetitions: usize,
    /// Where data is written; it decides which disk is measured. None: the directory for temporary files.
    pub folder: Option<PathBuf>,
    /// The address of a PostgreSQL database, for the scenario that needs one.
    pub postgres: Option<String>,
    /// The command `segno`, for the scenarios that need a host of its own.
    pub binary: PathBuf,
}

/// Measures, and says on `say` what is being measured.
///
/// # Errors
/// Something went wrong that has nothing to do with speed; no figures are given then.
pub async fn bench(
    options: BenchOptions,
    env: Env,
    say: &(dyn Fn(String) + Sync),
) -> anyhow::Result<Report> {
    let scenarios = options.scenarios.clone();
    let setting = Arc::new(Setting::new(options, env)?);
    let mut conditions = machine::conditions(&setting);
    let mut sections = Vec::with_capacity(scenarios.len());
    for scenario in scenarios {
        let name =
            scenario.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
        say(format!("measuring `{name}`"));
        measure::forget_peak()?;
        let mut section = run(scenario, &setting)
            .await
            .map_err(|error| error.context(format!("the scenario `{name}` failed")))?;
        let peak = measure::peak_mb(std::process::id())?;
        section.measured("most memory of this process", "MB", &[peak]);
        sections.push(Section { scenario: name, ..section });
    }
    conditions.load_after = machine::load();
    Ok(Report { conditions, sections })
}

/// One scenario over what all share.
type Run = for<'a> fn(&'a Setting) -> BoxFuture<'a, anyhow::Result<Section>>;

async fn run(scenario: Scenario, setting: &Arc<Setting>) -> anyhow::Result<Section> {
    let run: Run = match scenario {
        Scenario::Noop => return noop::run(setting).await,
        Scenario::Resonate => return resonate::run(setting).await,
        Scenario::Idle => return idle::run(setting).await,
        Scenario::Asleep => return asleep::run(setting).await,
        Scenario::Lists => return lists::run(setting).await,
        Scenario::Fair => return fair::run(setting).await,
        Scenario::Overload => return overload::run(setting).await,
        Scenario::Steps => |setting| steps::run(setting).boxed(),
        Scenario::Crowd => |setting| crowd::run(setting).boxed(),
        Scenario::Replay => |setting| replay::run(setting).boxed(),
        Scenario::Disk => |setting| disk::run(setting).boxed(),
        Scenario::Starts => |setting| starts::run(setting).boxed(),
        Scenario::Fan => |setting| fan::run(setting).boxed(),
        Scenario::Long => |setting| long::run(setting).boxed(),
        Scenario::Timers => |setting| timers::run(setting).boxed(),
        Scenario::Resume => |setting| resume::run(setting).boxed(),
        Scenario::Peers => |setting| peers::run(setting).boxed(),
    };
    // On the runtime's own threads, where the host's work is done as well: a busy machine wakes the thread that waits
    // for everything later than those, and the floors would look slower than they are.
    let setting = setting.clone();
    let mut measuring = JoinSet::new();
    measuring.spawn(async move { run(&setting).await });
    measuring.join_next().await.context("there is one task")??
}
