//! Measures the memory of a host in a process of its own: idle, under small invocations, and after
//! them.

use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};

use super::{
    context::BenchContext,
    http::{crowd, noop},
    measure::resident_mb,
    report::{BenchSection, Goal},
};

/// Concurrent clients, and the number of invocations of all of them together.
const CROWDS: [(u32, u32); 2] = [(64, 128_000), (1_000, 64_000)];
/// The same for a quick run.
const QUICK: [(u32, u32); 2] = [(16, 320), (64, 640)];

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let crowds = context.size(CROWDS, QUICK);
    let idle = context.size(Millis::seconds(30), Millis::seconds(1));
    let (mut fresh, mut rested) = (vec![], vec![]);
    let mut used = crowds.map(|_| vec![]);
    for _ in 0..context.repetitions {
        let place = context.place()?;
        let options = ServerOptions::within(place.path(), &context.binary)?;
        let server = DemoServer::start(options, context.env.clone()).await?;
        context.env.runtime.sleep(Millis(500)).await;
        fresh.push(resident_mb(server.pid())?);
        server.client().deploy(context.component.to_vec(), Some("bench")).await?;
        for ((clients, count), used) in crowds.iter().zip(&mut used) {
            // With connections of its own, which are closed when it is gone.
            let client = Client::new(&server.client().server(), None)?;
            crowd(&client, &noop(), *clients, count / clients).await?;
            used.push(resident_mb(server.pid())?);
        }
        context.env.runtime.sleep(idle).await;
        rested.push(resident_mb(server.pid())?);
        server.stop().await?;
    }
    let mut section = BenchSection::new(
        "resident memory of `segno serve`, program text included: on an empty data directory; after an upload, which \
         compiles, and no-ops by many clients at once; and at rest after that",
    );
    let goal = Goal::AtMost { must: 80.0, aim: 60.0 };
    section.measured("fresh", "MB", &fresh).goal(goal);
    for ((clients, count), used) in crowds.iter().zip(&used) {
        let goal = Goal::AtMost { must: 150.0, aim: 120.0 };
        section.measured(format!("after {count} no-ops, {clients} clients"), "MB", used).goal(goal);
    }
    section.measured(format!("after another {idle} of rest"), "MB", &rested).goal(goal);
    Ok(section)
}
