//! Children started at once: one commit for the calls, then as many tasks as the host has room for.

use serde_json::json;

use super::{bed::Bed, report::Section, setting::Setting, straight};
use segno_engine::worker::WorkerSettings;

pub async fn run(setting: &Setting) -> anyhow::Result<Section> {
    let widths: &[u32] = setting.size(&[1_000, 10_000], &[100]);
    let mut section = Section::new(
        "one workflow that calls so many activities at once and waits for all; the floor is the same activities, one \
         after the other, without a host",
    );
    for width in widths {
        let (mut rate, mut cpu, mut commits, mut statements, mut alone) =
            (vec![], vec![], vec![], vec![], vec![]);
        for _ in 0..setting.repetitions {
            let place = setting.place()?;
            let bed = Bed::sqlite(setting, place.path(), WorkerSettings::default()).await?;
            bed.run_one("warm-up", "fan", json!({ "children": 20 })).await?;
            let before = bed.written();
            let passed = bed.run_one("fan", "fan", json!({ "children": width })).await?;
            let after = bed.written();
            bed.close().await;
            rate.push(passed.rate(*width));
            cpu.push(passed.cpu_each_us(*width));
            commits.push((after.commits - before.commits) as f64);
            statements.push((after.statements - before.statements) as f64 / f64::from(*width));
            alone.push(straight::activities(setting, *width).await?.cpu_each_us(*width));
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
