//! Measures the memory of an idle host.

use segno_api::model::StartInvocation;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::Value as Json;

use super::{
    context::BenchContext,
    measure::resident_mb,
    report::{BenchSection, Goal},
};

pub async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let (mut fresh, mut used) = (vec![], vec![]);
    for _ in 0..context.repetitions {
        let place = context.place()?;
        let options = ServerOptions::within(place.path(), &context.binary)?;
        let server = DemoServer::start(options, context.env.clone()).await?;
        context.env.runtime.sleep(Millis(500)).await;
        fresh.push(resident_mb(server.pid())?);
        server.client().deploy(context.component.to_vec(), Some("bench")).await?;
        for _ in 0..context.size(500, 20) {
            let start = StartInvocation {
                target: "bench/noop".to_owned(),
                input: Json::Null,
                wait_ms: Some(30_000),
                ..StartInvocation::default()
            };
            server.client().start(&start).await?;
        }
        used.push(resident_mb(server.pid())?);
        server.stop().await?;
    }
    let mut section = BenchSection::new(
        "resident memory of `segno serve` on an empty data directory, program text included",
    );
    let goal = Goal::AtMost { must: 80.0, aim: 60.0 };
    section.measured("fresh", "MB", &fresh).goal(goal);
    section.measured("after an upload, which compiles, and some hundred no-ops", "MB", &used);
    Ok(section)
}
