//! Starts many children together: one commit for the calls, then as many concurrent tasks as the
//! host has slots.

use segno_engine::worker::WorkerSettings;
use serde_json::json;

use super::{bare_guest, context::BenchContext, harness::Harness, report::BenchSection};

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let widths: &[u32] = context.size(&[1_000, 10_000], &[100]);
    let mut section = BenchSection::new(
        "one workflow that calls N activities at once and waits for all; the floor is the same activities, one \
         after the other, without a host",
    );
    for width in widths {
        let (mut rate, mut cpu, mut commits, mut statements, mut alone) =
            (vec![], vec![], vec![], vec![], vec![]);
        for _ in 0..context.repetitions {
            let place = context.place()?;
            let harness = Harness::sqlite(context, place.path(), WorkerSettings::default()).await?;
            harness.run_one("warm-up", "fan", json!({ "children": 20 })).await?;
            let before = harness.written();
            let passed = harness.run_one("fan", "fan", json!({ "children": width })).await?;
            let after = harness.written();
            harness.close().await;
            rate.push(passed.rate(*width));
            cpu.push(passed.cpu_each_us(*width));
            commits.push((after.commits - before.commits) as f64);
            statements.push((after.statements - before.statements) as f64 / f64::from(*width));
            alone.push(bare_guest::activities(context, *width).await?.cpu_each_us(*width));
        }
        section.measured(format!("{width} children"), "/s", &rate);
        section.measured(format!("{width} children, CPU time of a child"), "µs", &cpu);
        section.measured(format!("{width} children, commits"), "", &commits);
        section.measured(format!("{width} children, SQL statements of a child"), "", &statements);
        section.floor(format!("{width} activities alone, CPU time of each"), "µs", &alone);
        section.ratio(format!("{width} children, CPU / CPU of the activities alone"), &cpu, &alone);
    }
    Ok(section)
}
