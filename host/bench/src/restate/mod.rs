//! Measures services: one deployment, called through a Segno host, through Restate's server if its
//! path is given, and directly.
//!
//! - `deployment`: the service;
//! - `bare`: direct calls without a server;
//! - `server`: a server in a separate process;
//! - `subject`: the measurements of each.

mod bare;
mod deployment;
mod server;
mod subject;

use self::{
    bare::DeploymentCaller,
    deployment::BenchDeployment,
    server::{BenchServer, ServerProgram},
    subject::{BenchSubject, CLIENTS, SubjectFigures},
};
use super::{
    baseline::BaselineDatabase,
    context::BenchContext,
    measure::{Stopwatch, resident_mb},
    report::{BenchSection, Goal, percentile},
};

/// The subjects, which are measured alternately.
struct ComparedSubjects {
    ours: BenchSubject,
    theirs: Option<BenchSubject>,
    bare: BenchSubject,
}

/// One comparison between the subjects.
struct ComparisonRow<'a> {
    name: &'static str,
    unit: &'static str,
    of: fn(&SubjectFigures) -> &Vec<f64>,
    /// Goal for the ratio of the host to Restate's server.
    goal: Goal,
    /// The floor that replaces the bare service in this comparison.
    floor: Option<(&'static str, &'a [f64])>,
}

/// Measurements of newly created hosts.
#[derive(Default)]
struct FreshHosts {
    /// Time from the start to the first answer, registration included, in milliseconds.
    start_ms: Vec<f64>,
    /// Resident memory after that, in megabytes.
    memory_mb: Vec<f64>,
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let alone = context.size(400, 20);
    let [noops, three_steps, steps, interrupted] =
        context.size([100, 50, 1_000, 100], [10, 2, 20, 10]);
    let deployment = BenchDeployment::start().await?;
    let url = deployment.url();
    let segno = ServerProgram::Segno(context.binary.clone());
    let ours = BenchSubject::server(BenchServer::start(context, segno.clone(), url).await?);
    let theirs = match context.restate_server.clone() {
        Some(program) => {
            let server = BenchServer::start(context, ServerProgram::Restate(program), url).await?;
            Some(BenchSubject::server(server))
        }
        None => None,
    };
    let bare = BenchSubject::bare(DeploymentCaller::new(url, &context.env)?);
    let mut subjects = ComparedSubjects { ours, theirs, bare };
    let place = context.place()?;
    let mut commits = BaselineDatabase::new(place.path()).await?;
    let (mut commit, mut fresh) = (vec![], FreshHosts::default());
    for turn in 0..context.repetitions {
        let mut bare_commits = Vec::new();
        for _ in 0..alone {
            for subject in subjects.all() {
                subject.noop().await?;
            }
            bare_commits.push(commits.commit(&[1; 100]).await?);
        }
        commit.push(percentile(&bare_commits, 50));
        for subject in subjects.all() {
            subject.noops_done();
            subject.noops(noops).await?;
        }
        for subject in subjects.all() {
            subject.three_steps(three_steps).await?;
        }
        for subject in subjects.all() {
            subject.long(steps).await?;
        }
        for subject in subjects.all() {
            subject.kill(&context.env, turn, interrupted).await?;
        }
        fresh.measure(context, segno.clone(), url).await?;
    }
    commits.close().await?;

    let about = format!(
        "A service of one handler, which does nothing but steps (`run`), in this process, called over HTTP through a host in \
         a process of its own: {alone} no-ops by one client, in turns with the floors; {CLIENTS} clients with {noops} \
         no-ops each, and with {three_steps} invocations of three steps; one invocation of {steps} steps; SIGKILL of \
         the host while it runs {CLIENTS} invocations of {interrupted} steps. The work of clients and service is in all \
         figures. Bare: the same frames to the same service from a client that stores nothing"
    );
    let mut section = BenchSection::new(about);
    section.floor("bare SQLite FULL commit, p50", "µs", &commit);
    for row in rows(&fresh) {
        subjects.compare(&mut section, &row);
    }
    Ok(section)
}

/// The comparisons, in reading order.
fn rows(fresh: &FreshHosts) -> [ComparisonRow<'_>; 10] {
    let less = Goal::AtMost { must: 1.0, aim: 1.0 };
    let more = Goal::AtLeast { must: 1.0, aim: 5.0 };
    let row = |name, unit, of, goal| ComparisonRow { name, unit, of, goal, floor: None };
    let start = Some(("a first start", &fresh.start_ms[..]));
    let memory = Some(("a fresh host", &fresh.memory_mb[..]));
    [
        row("no-op, 1 client, p50", "µs", |it| &it.alone_p50, less),
        row("no-op, 1 client, p99", "µs", |it| &it.alone_p99, less),
        row("no-ops, 64 clients", "/s", |it| &it.noops, more),
        row("CPU time of a no-op, 64 clients", "µs", |it| &it.cpu, less),
        row("three steps, 64 clients", "/s", |it| &it.three_steps, more),
        row("CPU time of three steps, 64 clients", "µs", |it| &it.three_steps_cpu, less),
        row("a step of a long invocation", "µs", |it| &it.step, less),
        ComparisonRow {
            floor: start,
            ..row("SIGKILL to the first answer", "ms", |it| &it.first_answer, less)
        },
        ComparisonRow {
            floor: start,
            ..row("SIGKILL to the end of what ran", "ms", |it| &it.all_ended, less)
        },
        ComparisonRow {
            floor: memory,
            ..row("memory after the work", "MB", |it| &it.memory, less)
        },
    ]
}

impl FreshHosts {
    async fn measure(
        &mut self,
        context: &BenchContext,
        program: ServerProgram,
        url: &str,
    ) -> anyhow::Result<()> {
        let stopwatch = Stopwatch::start();
        let server = BenchServer::start(context, program, url).await?;
        self.start_ms.push(stopwatch.wall_us() / 1_000.0);
        self.memory_mb.push(resident_mb(server.pid())?);
        Ok(())
    }
}

impl ComparedSubjects {
    fn all(&mut self) -> impl Iterator<Item = &mut BenchSubject> {
        let Self { ours, theirs, bare } = self;
        [ours].into_iter().chain(theirs).chain([bare])
    }

    /// Adds the figures of one comparison: the host's, and those it is compared with.
    fn compare(&self, section: &mut BenchSection, row: &ComparisonRow<'_>) {
        let ComparisonRow { name, unit, of, .. } = row;
        let ours = of(&self.ours.figures);
        section.measured(*name, unit, ours);
        let (floor_name, floor) = match row.floor {
            Some(floor) => floor,
            None => ("bare", &of(&self.bare.figures)[..]),
        };
        section.floor(format!("{name}, {floor_name}"), unit, floor);
        section.ratio(format!("{name} / {floor_name}"), ours, floor);
        if let Some(theirs) = &self.theirs {
            let theirs = of(&theirs.figures);
            section.floor(format!("{name}, Restate's server"), unit, theirs);
            let ratio = section.ratio(format!("{name} / Restate's server"), ours, theirs);
            ratio.goal(row.goal);
        }
    }
}
