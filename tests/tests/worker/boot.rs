//! The order of a host's start.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::HostName,
    promise::{NewPromise, TaskStatus},
    time::Millis,
    value::{Tags, Value},
};
use segno_engine::boot;
use segno_engine::worker::WorkerSettings;
use segno_sim::sleep;
use serde_json::json;
use tests::world::{Plan, World, script::Script};

use super::{SECOND, begun};

/// Creates a promise with a deadline in one second.
async fn soon(world: &World, id: &str) {
    use segno_env::Clock as _;
    let timeout_at = world.clock.now() + SECOND;
    let (id, param, tags) = (id.into(), Value::default(), Tags::new());
    world.client(Command::PromiseCreate(NewPromise { id, param, tags, timeout_at })).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_begins_its_life_then_gives_back_what_it_held_and_only_then_works() {
    let script = Script::default()
        .workflow("flow", |ctx| async move { ctx.done(ctx.call("work", "1")).await })
        .activity("work", |attempt| async move {
            attempt.sleep(5_000).await;
            attempt.succeed("1")
        });
    let mut world = begun(&Arc::new(script), Plan::default()).await;
    world.stands("it/0", TaskStatus::Acquired).await;
    soon(&world, "due").await;
    world.crash();
    world.clock.jump(Millis(2_000));
    let earlier = world.probe.submitted().len();
    // Slows the release down, so that work that did not wait for it would overtake it.
    world.probe.slow("host-release", Millis(1_000));
    world.boot().await;
    world.pass(Millis(3_000)).await;
    let submitted = world.probe.submitted();
    let names = submitted[earlier..].iter().flatten().map(Command::name).collect::<Vec<_>>();
    assert_eq!(names[0], "host-start");
    let others = names[1..].iter().position(|name| *name != "host-release").expect("it works");
    assert!(others >= 1, "it gave nothing back: {names:?}");
    let (_, work) = names[1..].split_at(others);
    assert!(!work.contains(&"host-release"), "it worked before it had given back: {names:?}");
    for wanted in ["promise-due", "task-acquire"] {
        assert!(work.contains(&wanted), "{wanted} is not in {names:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_that_could_not_begin_its_life_does_nothing() {
    let script = Script::default().workflow("flow", |_| async { Ok("1".into()) });
    let world = World::with(Plan::default(), &Arc::new(script)).await;
    world.start("it", "wasm://m/flow", &json!(null)).await;
    soon(&world, "due").await;
    world.clock.jump(Millis(2_000));
    world.probe.refuse(|command| command.name() == "host-start");
    let node = HostName::from("world");
    let started = boot::start(world.host(), node, WorkerSettings::default()).await;
    assert!(started.is_err(), "it came up");
    sleep(Millis(120_000)).await;
    assert_eq!(world.probe.submitted(), Vec::<Vec<Command>>::new());
    assert!(world.promise("due").await.expect("it is there").is_pending());
}
