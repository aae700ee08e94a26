//! Workflows that sleep, and wake up within the same second.

use anyhow::{Context as _, bail};
use segno_core::{
    id::PromiseId,
    time::{Millis, Timestamp},
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    bed::Bed,
    report::{Section, percentile},
    setting::Setting,
};
use crate::worker::WorkerSettings;

/// The time over which they are spread.
const SPREAD_MS: i64 = 1_000;
/// Beginnings that come too late before this gives up.
const ATTEMPTS: u32 = 4;

pub async fn run(setting: &Setting) -> anyhow::Result<Section> {
    let timers = setting.size(10_000, 200);
    let (mut p50, mut p99, mut end_p99, mut floor_p50, mut floor_p99) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..setting.repetitions {
        let woken = woken(setting, timers).await?;
        p50.push(percentile(&woken.told, 50));
        p99.push(percentile(&woken.told, 99));
        end_p99.push(percentile(&woken.ended, 99));
        let bare = sleeps(setting, timers).await?;
        floor_p50.push(percentile(&bare, 50));
        floor_p99.push(percentile(&bare, 99));
    }
    let mut section = Section::new(format!(
        "{timers} suspended workflows, due at instants spread over one second; lateness is from that instant to the time \
         at which the workflow was told, and to its end. The floor is as many sleeps of the runtime"
    ));
    section.measured("lateness, p50", "ms", &p50);
    section.measured("lateness, p99", "ms", &p99);
    section.measured("lateness of the end, p99", "ms", &end_p99);
    section.floor("bare sleeps, lateness, p50", "ms", &floor_p50);
    section.floor("bare sleeps, lateness, p99", "ms", &floor_p99);
    Ok(section)
}

struct Woken {
    told: Vec<f64>,
    ended: Vec<f64>,
}

async fn woken(setting: &Setting, timers: u32) -> anyhow::Result<Woken> {
    let mut lead = Millis(setting.size(12_000, 1_500));
    for _ in 0..ATTEMPTS {
        let place = setting.place()?;
        let bed = Bed::sqlite(setting, place.path(), WorkerSettings::default()).await?;
        let begin = setting.surroundings.clock.now() + lead;
        let due = dues(begin, timers);
        let id = |number| PromiseId::new(format!("nap-{number}"));
        let ids: Vec<PromiseId> = (0..timers).map(id).collect();
        let naps = ids
            .iter()
            .zip(&due)
            .map(|(id, due)| (id.clone(), json!({ "until_ms": due.0 })))
            .collect();
        let watch = bed.watch(&ids);
        bed.create(naps, "nap").await?;
        if setting
            .surroundings
            .within(begin.since(setting.surroundings.clock.now()), bed.suspended(&ids))
            .await
            .is_none()
        {
            bed.close().await;
            lead = Millis(lead.0 * 2);
            continue;
        }
        watch.ended(&setting.surroundings).await?;
        let told = bed.results(&ids).await?;
        let told = told.iter().map(|late| late.as_f64().context("a nap answers a number"));
        let told = told.collect::<anyhow::Result<_>>()?;
        let mut ended = Vec::with_capacity(ids.len());
        for (page, due) in ids.chunks(256).zip(due.chunks(256)) {
            for (row, due) in bed.host.store.promises(page).await?.into_iter().flatten().zip(due) {
                let settled = row.promise.settlement().context("it has ended")?.settled_at;
                ended.push(settled.since(*due).0 as f64);
            }
        }
        bed.close().await;
        return Ok(Woken { told, ended });
    }
    bail!(
        "{timers} workflows were not all asleep within {} s: this machine is too busy for this scenario",
        lead.0 / 2_000
    )
}

fn dues(begin: Timestamp, timers: u32) -> Vec<Timestamp> {
    (0..i64::from(timers))
        .map(|number| begin + Millis(number * SPREAD_MS / i64::from(timers)))
        .collect()
}

async fn sleeps(setting: &Setting, timers: u32) -> anyhow::Result<Vec<f64>> {
    let begin = setting.surroundings.clock.now() + Millis(500);
    let mut sleeping = JoinSet::new();
    for due in dues(begin, timers) {
        let surroundings = setting.surroundings.clone();
        sleeping.spawn(async move {
            surroundings.sleep_until(due).await;
            surroundings.clock.now().since(due).0 as f64
        });
    }
    let mut late = Vec::with_capacity(timers as usize);
    while let Some(ended) = sleeping.join_next().await {
        late.push(ended?);
    }
    Ok(late)
}
