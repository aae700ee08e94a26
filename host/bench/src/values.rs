//! Measures large values: the bytes that a conversation with a model takes, whose every call
//! carries all of it, and the time of a call and of a wake-up after few and after many calls.

use std::{fs, path::Path, time::Duration};

use anyhow::ensure;
use segno_api::model::StartInvocation;
use segno_client::Client;
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use serde_json::json;

use super::{
    context::BenchContext,
    measure::{Stopwatch, cpu_of_us},
    report::{BenchSection, Goal},
};

/// A conversation: the calls, the bytes of a message, and the messages above which the older half
/// is dropped.
#[derive(Clone, Copy)]
struct Talk {
    calls: u32,
    message_bytes: u32,
    messages_max: u32,
}

/// Calls of one generation of the workflow.
const GENERATION: u32 = 250;

impl Talk {
    /// The promise that the last generation of the execution `id` waits for.
    fn go(self, id: &str) -> String {
        match self.calls.div_ceil(GENERATION) {
            ..=1 => format!("{id}/p/go"),
            last => format!("{id}/g/{last}/p/go"),
        }
    }
}

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let growing = context.size(
        Talk { calls: 100, message_bytes: 28_000, messages_max: 1_000 },
        Talk { calls: 10, message_bytes: 28_000, messages_max: 1_000 },
    );
    let short = Talk { calls: context.size(500, 20), message_bytes: 4_000, messages_max: 50 };
    let long = Talk { calls: context.size(5_000, 40), ..short };
    let (mut given, mut stored, mut share) = (vec![], vec![], vec![]);
    let (mut call, mut cpu) = (vec![], vec![]);
    let (mut few, mut many, mut few_woken, mut many_woken) = (vec![], vec![], vec![], vec![]);
    for _ in 0..context.repetitions {
        let place = context.place()?;
        let options = ServerOptions::within(place.path(), &context.binary)?;
        let data = options.data.clone();
        let mut server = DemoServer::start(options, context.env.clone()).await?;
        server.client().deploy(context.component.to_vec(), Some("bench")).await?;
        server.drain().await?;
        let before = bytes_of(&data)?;
        server.restart().await?;

        let (started, stopwatch) = (cpu_of_us(server.pid())?, Stopwatch::start());
        talk(context, server.client(), "growing", growing).await?;
        call.push(stopwatch.wall_us() / f64::from(growing.calls) / 1_000.0);
        cpu.push((cpu_of_us(server.pid())? - started) / f64::from(growing.calls) / 1_000.0);
        server.drain().await?;
        let after = bytes_of(&data)? - before;
        let messages = f64::from(growing.calls);
        let bytes = messages * (messages + 1.0) / 2.0 * f64::from(growing.message_bytes);
        given.push(bytes / 1e6);
        stored.push(after / 1e6);
        share.push(after / (messages * f64::from(growing.message_bytes)));

        server.restart().await?;
        for (id, of, each, woken) in
            [("few", short, &mut few, &mut few_woken), ("many", long, &mut many, &mut many_woken)]
        {
            let stopwatch = Stopwatch::start();
            talk(context, server.client(), id, of).await?;
            each.push(stopwatch.wall_us() / f64::from(of.calls) / 1_000.0);
            server.drain().await?;
            server.restart().await?;
            let stopwatch = Stopwatch::start();
            server.client().resolve(&of.go(id), json!(null)).await?;
            let ended = server.client().wait(id, Duration::from_secs(60)).await?;
            woken.push(stopwatch.wall_us() / 1_000.0);
            ensure!(
                ended.settled_at_ms.is_some(),
                "the conversation `{id}` has not ended: {ended:?}"
            );
        }
        server.stop().await?;
    }
    let mut section = BenchSection::new(format!(
        "a workflow on a host in a process of its own calls a model, an activity, with the whole conversation: {} \
         calls, each of which adds {} bytes that do not compress well; then {} and {} calls that add {} bytes and drop \
         the older half of {} messages, {GENERATION} calls a generation, and are woken after a restart of the host",
        growing.calls,
        growing.message_bytes,
        short.calls,
        long.calls,
        short.message_bytes,
        short.messages_max,
    ));
    section.floor("bytes that the calls carried", "MB", &given);
    section.measured("bytes that the database grew", "MB", &stored);
    section
        .measured("grown / bytes of all messages", "×", &share)
        .goal(Goal::AtMost { must: 6.0, aim: 4.0 });
    section.measured("one call, with all of the conversation", "ms", &call);
    section.measured("  = CPU time of the host", "ms", &cpu);
    section.measured(format!("one of {} calls", short.calls), "ms", &few);
    section.measured(format!("one of {} calls", long.calls), "ms", &many);
    section.ratio("many calls / few calls", &many, &few);
    section.measured(format!("woken after {} calls", short.calls), "ms", &few_woken);
    section.measured(format!("woken after {} calls", long.calls), "ms", &many_woken);
    section.ratio("woken after many / after few", &many_woken, &few_woken);
    Ok(section)
}

/// Runs a conversation until its last call was answered.
async fn talk(context: &BenchContext, client: &Client, id: &str, talk: Talk) -> anyhow::Result<()> {
    let conversation = json!({ "messages": 0, "latest": [], "message_bytes": talk.message_bytes });
    let input = json!({
        "conversation": conversation,
        "calls": talk.calls,
        "messages_max": talk.messages_max,
        "generation": GENERATION,
    });
    let start = StartInvocation {
        id: Some(id.to_owned()),
        target: "bench/talk".to_owned(),
        input,
        ..StartInvocation::default()
    };
    client.start(&start).await?;
    let go = talk.go(id);
    loop {
        if client.promise(&go).await.is_ok() {
            return Ok(());
        }
        context.env.runtime.sleep(Millis(2)).await;
    }
}

/// Bytes of the files in a folder.
fn bytes_of(folder: &Path) -> anyhow::Result<f64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let of = entry?.metadata()?;
        bytes += if of.is_file() { of.len() } else { 0 };
    }
    Ok(bytes as f64)
}
