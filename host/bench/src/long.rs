//! Measures a workflow with a very long history: the cost of continuing it, and its memory.

use anyhow::{Context as _, ensure};
use segno_core::{id::PromiseId, time::Millis};
use segno_engine::worker::{WarmBudget, WorkerSettings};
use serde_json::json;

use super::{
    bare_guest::BareGuest,
    context::BenchContext,
    harness::Harness,
    measure::{Stopwatch, forget_peak, peak_mb, resident_mb},
    report::{BenchSection, Goal},
    suspended_fixture,
};

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let records = context.size(1_000_000, 2_000);
    let steps = (records - 2) / 2;
    let place = context.place()?;
    let id = PromiseId::from("long");
    let own = std::process::id();

    let warm = WorkerSettings::default();
    let cold = WorkerSettings { warm: WarmBudget { instances: 0, bytes: 0 }, ..warm };
    let (mut written, mut warm_us, mut bare, mut read) = (vec![], vec![], vec![], vec![]);
    let (mut replayed, mut beyond, mut peak) = (vec![], vec![], vec![]);

    // Only once, since the history is the same in every repetition.
    let harness = Harness::sqlite(context, place.path(), warm).await?;
    let stopwatch = Stopwatch::start();
    suspended_fixture::put_long(&harness, &id, steps, 1_000).await?;
    written.push(stopwatch.passed().rate(records));
    // Not measured: the first resume finds no warm instance.
    go_on(context, &harness, &id, 0).await?;
    let mut turn = 1;
    for _ in 0..context.repetitions {
        let stopwatch = Stopwatch::start();
        go_on(context, &harness, &id, turn).await?;
        warm_us.push(stopwatch.wall_us());
        turn += 1;
    }
    harness.close().await;

    for _ in 0..context.repetitions {
        let harness = Harness::sqlite(context, place.path(), cold).await?;
        let stopwatch = Stopwatch::start();
        let mut from = 0;
        loop {
            let page = harness.host.store.read().journal(&id, from, 2_048).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
        }
        read.push(stopwatch.passed().cpu_each_us(from));

        forget_peak()?;
        let before = resident_mb(own)?;
        let stopwatch = Stopwatch::start();
        go_on(context, &harness, &id, turn).await?;
        let passed = stopwatch.passed();
        turn += 1;
        peak.push(peak_mb(own)? - before);
        replayed.push(passed.cpu_each_us(from));
        harness.close().await;

        let stopwatch = Stopwatch::start();
        let input = json!({ "steps": steps, "turns": 1_000 });
        let mut straight = BareGuest::start(context, "turns", &input, false).await?;
        let result = format!("\"{}\"", "x".repeat(20));
        for _ in 0..steps {
            straight.step(&result).await?;
        }
        let alone = stopwatch.passed().cpu_each_us(from);
        bare.push(alone);
        beyond.push(passed.cpu_each_us(from) - alone);
    }

    let mut section = BenchSection::new(format!(
        "one workflow with a journal of {records} records (`run` steps with results of 20 bytes), which waits and is woken, \
         over SQLite: with its instance warm, and without, when the journal is looked over once and then replayed, a \
         page of 2,048 records at a time. The guest alone is told the same results, without a journal"
    ));
    section.measured("records written, 256 in a commit", "/s", &written);
    section.measured("woken, warm", "µs", &warm_us);
    section.measured("woken by replay, CPU time of a record", "µs", &replayed);
    section.measured("reading the journal once, CPU time of a record", "µs", &read);
    section.floor("the guest alone, CPU time of a record", "µs", &bare);
    section
        .measured("beyond the guest's own work, CPU time of a record", "µs", &beyond)
        .goal(Goal::AtMost { must: 1.0, aim: 0.7 });
    section
        .measured("memory that the replay takes at most", "MB", &peak)
        .goal(Goal::AtMost { must: 32.0, aim: 16.0 });
    Ok(section)
}

/// Ends the current wait of the workflow, and waits until the workflow is in its next wait.
pub(crate) async fn go_on(
    context: &BenchContext,
    harness: &Harness,
    id: &PromiseId,
    turn: u32,
) -> anyhow::Result<()> {
    harness.resolve(vec![id.named(&format!("turn-{turn}"))]).await?;
    let next = id.named(&format!("turn-{}", turn + 1));
    let waits = async {
        loop {
            let waits = harness.host.store.read().waits(id).await?;
            if waits.awaits.contains(&next) {
                return anyhow::Ok(());
            }
            context.env.runtime.sleep(Millis(1)).await;
        }
    };
    let waited = context.env.within(Millis(120_000), waits).await;
    waited.context("the workflow does not continue")??;
    ensure!(
        harness.host.store.read().promise(&next).await?.is_some(),
        "the workflow waits for nothing"
    );
    Ok(())
}
