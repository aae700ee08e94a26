//! Runs graphs, compared with the same number of plain calls by a workflow.

use std::fmt::Write as _;

use anyhow::Context as _;
use segno_core::{
    address::GRAPH_RUN,
    command::Command,
    id::PromiseId,
    promise::NewPromise,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use segno_engine::{values, worker::WorkerSettings};
use segno_guest::Payload;
use serde_json::json;

use super::{
    context::BenchContext,
    harness::Harness,
    measure::{Stopwatch, forget_peak, peak_mb, resident_mb},
    report::{BenchSection, Goal},
};

/// A family of graphs, and the workflow that does the same with plain calls.
struct GraphShape {
    name: &'static str,
    needs: fn(u32) -> Vec<u32>,
    plain: &'static str,
}

const SHAPES: [GraphShape; 3] = [
    GraphShape {
        name: "chain",
        needs: |node| node.checked_sub(1).into_iter().collect(),
        plain: "chain",
    },
    GraphShape { name: "wide", needs: |_| Vec::new(), plain: "fan" },
    GraphShape { name: "random", needs: random, plain: "fan" },
];

/// Up to three nodes among the 200 before this one.
fn random(node: u32) -> Vec<u32> {
    let drawn = |salt: u32| {
        let mixed = (u64::from(node) << 2 | u64::from(salt)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        node.checked_sub(1 + (mixed >> 40) as u32 % 200)
    };
    let mut needs: Vec<u32> = (0..3).filter_map(drawn).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let sizes: &[u32] = context.size(&[20, 1_000, 100_000], &[20, 100]);
    let mut section = BenchSection::new(
        "graphs of N nodes, each the call of an activity, at most 1,000 at once; the floor is a workflow that \
         calls the same activities, one after the other or all at once",
    );
    for shape in &SHAPES {
        for size in sizes {
            measure(context, shape, *size, &mut section).await?;
        }
    }
    // Together with the signal node, these are the maximum number of nodes in a plan.
    let half = context.size(49_999, 150);
    let mut recovered = vec![];
    for _ in 0..context.repetitions {
        recovered.push(recovery(context, half).await?);
    }
    section
        .measured(
            format!("{} nodes, half of them done: from the signal to the first node after it, on a new host", 2 * half),
            "ms",
            &recovered,
        )
        .goal(Goal::AtMost { must: 1_000.0, aim: 500.0 });
    Ok(section)
}

async fn measure(
    context: &BenchContext,
    shape: &GraphShape,
    size: u32,
    section: &mut BenchSection,
) -> anyhow::Result<()> {
    // A single small graph is too short for the resolution of the CPU clock, so several are run.
    let runs = (400 / size).max(1);
    let repetitions = if size > 10_000 { 1 } else { context.repetitions };
    let (mut rate, mut cpu, mut commits, mut memory) = (vec![], vec![], vec![], vec![]);
    let (mut plain_rate, mut plain_cpu) = (vec![], vec![]);
    for _ in 0..repetitions {
        let place = context.place()?;
        let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
        harness.run_one("warm-up", "fan", json!({ "children": 20 })).await?;
        run_graph(&harness, "warm-up-graph", &plan(20, shape.needs)).await?;
        let count = runs * size;
        let text = plan(size, shape.needs);
        forget_peak()?;
        let resident = resident_mb(std::process::id())?;
        let before = harness.written();
        let stopwatch = Stopwatch::start();
        for number in 0..runs {
            run_graph(&harness, &format!("graph-{number}"), &text).await?;
        }
        let passed = stopwatch.passed();
        let after = harness.written();
        rate.push(passed.rate(count));
        cpu.push(passed.cpu_each_us(count));
        commits.push((after.commits - before.commits) as f64 / f64::from(count));
        memory.push((peak_mb(std::process::id())? - resident).max(0.0) * 1e6 / f64::from(size));
        let stopwatch = Stopwatch::start();
        for number in 0..runs {
            let id = format!("plain-{number}");
            harness.run_one(&id, shape.plain, json!({ "children": size })).await?;
        }
        let passed = stopwatch.passed();
        harness.close().await;
        plain_rate.push(passed.rate(count));
        plain_cpu.push(passed.cpu_each_us(count));
    }
    let name = format!("{}, {size} nodes", shape.name);
    section.measured(name.clone(), "/s", &rate);
    section.measured(format!("{name}, CPU time of a node"), "µs", &cpu);
    section.measured(format!("{name}, commits of a node"), "", &commits);
    if size >= 1_000 {
        section.measured(format!("{name}, memory of a node at the most"), "bytes", &memory);
    }
    section.floor(format!("{size} plain calls (`{}`)", shape.plain), "/s", &plain_rate);
    section.floor(format!("{size} plain calls, CPU time of each"), "µs", &plain_cpu);
    section
        .ratio(format!("{name}, CPU / CPU of a plain call"), &cpu, &plain_cpu)
        .goal(Goal::AtMost { must: 2.0, aim: 1.0 });
    Ok(())
}

/// Time in milliseconds until a new host has continued a half-completed run.
async fn recovery(context: &BenchContext, half: u32) -> anyhow::Result<f64> {
    let place = context.place()?;
    let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
    let mut text =
        String::from(r#"{"max_parallel":1000,"outputs":["go"],"nodes":{"go":{"signal":"go"}"#);
    for node in 0..half {
        write!(text, r#","a{node}":{{"call":"leaf","input":{node}}}"#)?;
        write!(text, r#","b{node}":{{"call":"leaf","needs":["go","a{node}"],"input":{node}}}"#)?;
    }
    text.push_str("}}");
    let run = PromiseId::from("run");
    harness.host.store.execute(vec![Command::PromiseCreate(new(&run, &text))]).await?;
    harness.suspended(std::slice::from_ref(&run)).await?;
    harness.close().await;
    let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
    let first = run.attempt("b0", 0);
    let watch = harness.watch(std::slice::from_ref(&first));
    let stopwatch = Stopwatch::start();
    harness
        .host
        .store
        .execute(vec![Command::Signal {
            invocation: run.clone(),
            name: Text::from("go"),
            payload: Value::of(&b"1"[..]),
            key: None,
        }])
        .await?;
    watch.ended(&harness.host.env).await?;
    let took = stopwatch.wall_us() / 1_000.0;
    harness.host.store.execute(vec![Command::Kill { invocation: run }]).await?;
    harness.host.env.runtime.sleep(Millis(50)).await;
    harness.close().await;
    Ok(took)
}

async fn run_graph(harness: &Harness, id: &str, plan: &str) -> anyhow::Result<()> {
    let id = PromiseId::from(id);
    let watch = harness.watch(std::slice::from_ref(&id));
    harness.host.store.execute(vec![Command::PromiseCreate(new(&id, plan))]).await?;
    watch.ended(&harness.host.env).await?;
    harness.results(&[id]).await.context("the run failed")?;
    Ok(())
}

/// A plan with this many nodes; the last node's output is the run's output.
fn plan(size: u32, needs: fn(u32) -> Vec<u32>) -> String {
    let mut text = format!(r#"{{"max_parallel":1000,"outputs":["n{}"],"nodes":{{"#, size - 1);
    for node in 0..size {
        let comma = if node == 0 { "" } else { "," };
        let needs: Vec<String> = needs(node).iter().map(|need| format!(r#""n{need}""#)).collect();
        let needs = needs.join(",");
        let _ =
            write!(text, r#"{comma}"n{node}":{{"call":"leaf","input":{node},"needs":[{needs}]}}"#);
    }
    text.push_str("}}");
    text
}

fn new(id: &PromiseId, plan: &str) -> NewPromise {
    let input = Payload::Json(format!(r#"{{"plan":{plan}}}"#));
    let tags = Tags::from([
        (tags::TARGET.to_owned(), GRAPH_RUN.to_owned()),
        (tags::MODULE.to_owned(), "bench".to_owned()),
    ]);
    let param = values::param(GRAPH_RUN, &input, Tags::new());
    NewPromise { id: id.clone(), param, tags, timeout_at: Timestamp::NEVER }
}
