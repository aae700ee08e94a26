//! The streams of a dry run are those of the original as far as the run is the same.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::StreamId,
    invocation::{Record, RecordBody},
    reply::Reply,
    stream::{NewStream, StreamDifference, StreamItems},
};
use segno_engine::worker::fork::{DryRun, StreamMatch};
use segno_store::Store as _;
use serde_json::json;
use tests::world::{
    World,
    script::{Attempt, Script, ScriptContext},
};

use super::forks::{dry_run, forks, value};

/// A workflow and its activities write `tokens`, in turn and at the same time; the workflow alone
/// writes `log`.
fn telling() -> Arc<Script> {
    let flow = |ctx: ScriptContext| async move {
        ctx.append("log", "\"begin\"");
        ctx.append("tokens", "0");
        let told = ctx.done(ctx.call("tell", "1")).await?;
        ctx.append("tokens", &told);
        ctx.append("log", "\"middle\"");
        let slow = ctx.call("tell", "20");
        ctx.append("tokens", "\"meanwhile\"");
        ctx.done(ctx.sleep(50)).await?;
        ctx.append("tokens", "\"later\"");
        ctx.done(slow).await?;
        ctx.append("log", "\"end\"");
        Ok(told)
    };
    let tell = |attempt: Attempt| async move {
        let first: i64 = attempt.input().parse().expect("a number");
        for number in 0..4 {
            attempt.append("tokens", &json!([first, number]).to_string()).await;
            attempt.sleep(30).await;
        }
        attempt.succeed(first.to_string())
    };
    Arc::new(Script::default().workflow("flow", flow).activity("tell", tell))
}

async fn told() -> World {
    let mut world = World::scripted(&telling()).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    world.boot().await;
    world.until("it writes", async |world| world.promise("it/2").await.is_some()).await;
    // A client writes a stream of its own, and the workflow goes on.
    let notes = NewStream {
        id: StreamId::of_execution(&"it".into(), "notes"),
        content_type: Some("application/json".into()),
        lifetime: None,
        closed: false,
        items: StreamItems::message("\"from outside\"").expect("JSON"),
        fork: None,
    };
    let made = world.client(Command::StreamCreate(Box::new(notes))).await;
    assert!(!matches!(made, Reply::Refused(_)), "{made:?}");
    world.outcome("it").await;
    world
}

/// The messages of a stream.
async fn messages(world: &World, id: &str, name: &str) -> Vec<String> {
    let id = StreamId::of_execution(&id.into(), name);
    let chunks = world.memory.read().stream_data(&id, 0, 1 << 20).await.expect("memory answers");
    let data = chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect();
    String::from_utf8(data).expect("text").lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fork_has_the_items_of_its_records_from_every_record() {
    let mut world = told().await;
    let journal = world.journal("it").await;
    let (log, mut tokens) =
        (messages(&world, "it", "log").await, messages(&world, "it", "tokens").await);
    tokens.sort_unstable();
    let mut appended = 0;
    for at in 1..journal.len() as u32 {
        let id = format!("fork-{at}");
        forks(&world, "it", at, &id, &[]).await;
        let is_log = |name: &str| name == "log";
        if matches!(&journal[at as usize - 1].body, RecordBody::Command { name, .. } if is_log(name))
        {
            appended += 1;
        }
        assert_eq!(messages(&world, &id, "log").await, log[..appended], "at {at}");
        world.outcome(&id).await;
        // The fork of a fork.
        let again = format!("again-{at}");
        forks(&world, &id, at.div_ceil(2), &again, &[]).await;
        world.outcome(&again).await;
        for id in [id, again] {
            assert_eq!(messages(&world, &id, "log").await, log, "{id}");
            let mut forked = messages(&world, &id, "tokens").await;
            forked.sort_unstable();
            assert_eq!(forked, tokens, "{id}");
        }
    }
}

fn differs<'r>(run: &'r DryRun, name: &str) -> Option<&'r StreamDifference> {
    let stream = run.streams.iter().find(|stream| stream.name.as_str() == name);
    match &stream.expect("it is there").compared {
        StreamMatch::Equal => None,
        StreamMatch::Differs(difference) => Some(difference),
        StreamMatch::TooLarge => panic!("`{name}` is small"),
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_dry_run_that_changes_nothing_has_equal_streams_from_every_record() {
    let world = told().await;
    let len = world.journal("it").await.len() as u32;
    for at in 1..len {
        let run = dry_run(&world, "it", at, &[]).await;
        assert!(run.ends_as_recorded(), "at {at}: {run:?}");
        let names: Vec<&str> = run.streams.iter().map(|stream| stream.name.as_str()).collect();
        assert_eq!(names, ["log", "notes", "tokens"]);
        for stream in &run.streams {
            assert_eq!(stream.compared, StreamMatch::Equal, "at {at}");
            assert_eq!(stream.len, stream.recorded_len);
        }
        let tokens = run.streams.iter().find(|stream| stream.name.as_str() == "tokens");
        assert_eq!(tokens.map(|tokens| tokens.len), Some(12));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn another_result_shows_where_the_streams_part() {
    let world = told().await;
    let called = |record: &Record| matches!(record.body, RecordBody::Notified { .. });
    let at = world.journal("it").await.iter().position(called).expect("it is told") as u32 + 1;
    let command = world.journal("it").await[at as usize - 1].body.clone();
    let RecordBody::Notified { index, .. } = command else {
        panic!("{command:?}");
    };
    let run = dry_run(&world, "it", at, &[(index.0, value("7"))]).await;
    // The first token and the four of the first activity are the same.
    let tokens = differs(&run, "tokens").expect("the result is appended");
    assert_eq!(
        (tokens.position, &*tokens.first[0], &*tokens.second[0]),
        (5, "1", "7"),
        "{tokens:?}"
    );
    assert_eq!(differs(&run, "log"), None);
    assert_eq!(differs(&run, "notes"), None);
}
