//! Measures calls of objects, compared with calls of a plain function that does nothing and takes
//! the same number of commits.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use anyhow::Context as _;
use segno_engine::worker::WorkerSettings;
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{
    context::BenchContext,
    harness::Harness,
    measure::{MeasuredTime, Stopwatch},
    report::{BenchSection, Goal},
};

/// Number of concurrent clients, in scenarios with several.
pub(crate) const CLIENTS: u32 = 64;

/// A calling pattern: `count` calls by `clients` concurrent clients, each of which waits for the
/// end of its call.
#[derive(Clone, Copy)]
pub struct CallPattern {
    /// Name of the pattern in the report.
    pub name: &'static str,
    /// The function to call, by the number of the call.
    pub function: fn(u32) -> String,
    /// The input, by the number of the call.
    pub input: fn(u32) -> Json,
    pub clients: u32,
    pub count: u32,
}

/// The measurements, one value per repetition.
#[derive(Default)]
pub struct CallFigures {
    wall_us: Vec<f64>,
    cpu_us: Vec<f64>,
    commits: Vec<f64>,
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let (alone, crowd) = (context.size(1_000, 40), context.size(10_000, 400));
    let plain = |name, clients, count| CallPattern {
        name,
        function: |_| "noop".to_owned(),
        input: |_| Json::Null,
        clients,
        count,
    };
    let add = |name, function, clients, count| CallPattern {
        name,
        function,
        input: |_| json!(1),
        clients,
        count,
    };
    let measured = [
        (
            add("calls of one key, one after the other", |_| "Tally@one/add".to_owned(), 1, alone),
            plain("plain calls, one after the other", 1, alone),
        ),
        (
            add(
                "calls of as many keys, 64 clients",
                |call| format!("Tally@{call}/add"),
                CLIENTS,
                crowd,
            ),
            plain("plain calls, 64 clients", CLIENTS, crowd),
        ),
        (
            CallPattern {
                input: |_| Json::Null,
                ..add(
                    "shared reads of one key, 64 clients",
                    |_| "Tally@one/count".to_owned(),
                    CLIENTS,
                    crowd,
                )
            },
            plain("plain calls, 64 clients again", CLIENTS, crowd),
        ),
    ];
    let mut section = BenchSection::new(format!(
        "calls of an object whose function reads and writes its state: {alone} of one key, {crowd} of as many keys by \
         {CLIENTS} clients, and {crowd} that only read; in turns with calls of a plain function that does nothing"
    ));
    for (of_object, plain) in measured {
        let (mut object, mut floor) = (CallFigures::default(), CallFigures::default());
        for _ in 0..context.repetitions {
            let place = context.place()?;
            let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
            let harness = Arc::new(harness);
            let warm_up = CallPattern { count: 20, clients: 1, ..plain };
            calls(&harness, "warm-up", warm_up).await?;
            calls(&harness, "warm-up-object", CallPattern { count: 20, clients: 1, ..of_object })
                .await?;
            floor.add(&harness, "plain", plain).await?;
            object.add(&harness, "object", of_object).await?;
            Arc::into_inner(harness).context("all clients have ended")?.close().await;
        }
        section.compared(&of_object, &object, plain.name, &floor);
    }
    Ok(section)
}

impl BenchSection {
    /// Adds figures next to those of their floor.
    pub fn compared(
        &mut self,
        of: &CallPattern,
        figures: &CallFigures,
        floor_name: &str,
        floor: &CallFigures,
    ) {
        let name = of.name;
        self.measured(name, "µs", &figures.wall_us);
        self.measured(format!("{name}: CPU time"), "µs", &figures.cpu_us);
        self.measured(format!("{name}: commits of each"), "", &figures.commits);
        self.floor(floor_name, "µs", &floor.wall_us);
        self.floor(format!("{floor_name}: CPU time"), "µs", &floor.cpu_us);
        self.floor(format!("{floor_name}: commits of each"), "", &floor.commits);
        self.ratio(format!("{name} / plain"), &figures.wall_us, &floor.wall_us)
            .goal(Goal::AtMost { must: 1.5, aim: 1.2 });
    }
}

impl CallFigures {
    /// Measures one more repetition.
    ///
    /// # Errors
    /// Fails if a call failed.
    pub async fn add(
        &mut self,
        harness: &Arc<Harness>,
        prefix: &'static str,
        of: CallPattern,
    ) -> anyhow::Result<()> {
        let before = harness.written().commits;
        let passed = calls(harness, prefix, of).await?;
        let commits = harness.written().commits - before;
        self.wall_us.push(passed.each_us(of.count));
        self.cpu_us.push(passed.cpu_each_us(of.count));
        self.commits.push(commits as f64 / f64::from(of.count));
        Ok(())
    }
}

/// Makes the calls.
///
/// # Errors
/// Fails if a call failed.
pub(crate) async fn calls(
    harness: &Arc<Harness>,
    prefix: &'static str,
    of: CallPattern,
) -> anyhow::Result<MeasuredTime> {
    let next = Arc::new(AtomicU32::new(0));
    let stopwatch = Stopwatch::start();
    let mut clients = JoinSet::new();
    for _ in 0..of.clients {
        let (harness, next) = (harness.clone(), next.clone());
        clients.spawn(async move {
            loop {
                let call = next.fetch_add(1, Ordering::Relaxed);
                if call >= of.count {
                    return anyhow::Ok(());
                }
                let id = format!("{prefix}-{call}");
                harness.run_one(&id, &(of.function)(call), (of.input)(call)).await?;
            }
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.context("a client panicked")??;
    }
    Ok(stopwatch.passed())
}
