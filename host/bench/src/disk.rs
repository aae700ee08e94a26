//! Measures the bytes that a step adds on disk.

use std::path::Path;

use anyhow::Context as _;
use segno_core::{id::PromiseId, invocation::encode_records};
use segno_engine::worker::WorkerSettings;
use serde_json::json;

use super::{
    context::BenchContext,
    harness::Harness,
    measure::written_bytes,
    report::{BenchSection, Goal},
};

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let alone = context.size(5_000, 200);
    let many = context.size(2_500, 40);
    let (mut of_one, mut of_many, mut records) = (vec![], vec![], vec![]);
    let (mut one_written, mut many_written) = (vec![], vec![]);
    for _ in 0..context.repetitions.min(3) {
        let place = context.place()?;
        let dir = place.path();
        Harness::sqlite(context, dir, WorkerSettings::default()).await?.close().await;
        let empty = size(dir)?;

        let harness = Harness::sqlite(context, dir, WorkerSettings::default()).await?;
        let before = written_bytes()?;
        harness.run_one("disk", "steps", json!({ "steps": alone, "result_bytes": 22 })).await?;
        one_written.push((written_bytes()? - before) / f64::from(alone));
        let journal =
            harness.host.store.read().journal(&PromiseId::from("disk"), 1, 2 * alone).await?;
        records.push(encode_records(&journal).len() as f64 / f64::from(alone));
        harness.close().await;
        let with_one = size(dir)?;
        of_one.push((with_one - empty) / f64::from(alone));

        let harness = Harness::sqlite(context, dir, WorkerSettings::default()).await?;
        let input = json!({ "steps": 20, "result_bytes": 22 });
        let id = |number| PromiseId::new(format!("disk-{number}"));
        let before = written_bytes()?;
        harness.run((0..many).map(|number| (id(number), input.clone())).collect(), "steps").await?;
        harness.close().await;
        many_written.push((written_bytes()? - before) / f64::from(many * 20));
        of_many.push((size(dir)? - with_one) / f64::from(many * 20));
    }
    let mut section = BenchSection::new(format!(
        "growth of the database, its log carried over, by `run` steps with results of 20 bytes: {alone} steps of one \
         workflow, then {many} workflows of 20 steps with all that belongs to a workflow, and the free pages that the next commits take. Beside it what was written on the \
         way, as the system counts it: whole pages, the log and its checkpoints"
    ));
    let goal = Goal::AtMost { must: 150.0, aim: 80.0 };
    let measured = section.measured("a step of one workflow", "bytes", &of_one);
    if !context.quick {
        measured.goal(goal);
    }
    section.measured("a step of many workflows", "bytes", &of_many);
    section.measured("written on the way, a step of one workflow", "bytes", &one_written);
    section.measured("written on the way, a step of many workflows", "bytes", &many_written);
    section.floor("its two records alone", "bytes", &records);
    section.ratio("a step of one workflow / its records", &of_one, &records);
    Ok(section)
}

/// Size in bytes of the database in a data directory; no host may be running.
fn size(dir: &Path) -> anyhow::Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().contains(".db") {
            bytes += entry.metadata().context("cannot measure the database")?.len();
        }
    }
    anyhow::ensure!(bytes > 0, "there is no database in `{}`", dir.display());
    Ok(bytes as f64)
}
