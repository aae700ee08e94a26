//! Lost leases, stopped hosts, lost hints: whatever happens to a claim, another one continues.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use segno_core::{
    command::{ClaimRequest, Command},
    config::Config,
    id::{Claim, Holder, HostName},
    promise::{TaskStatus, Verdict},
    reply::Reply,
    time::Millis,
};
use segno_env::Clock;
use serde_json::json;
use tests::world::{Plan, World, script::Script};

use super::{SECOND, begun, cold};

/// Another host claims an offered task.
async fn stolen(world: &World, id: &str) {
    let claim = Claim { id: id.into(), version: world.task(id).await.version };
    let holder = Holder { node: HostName::from("other"), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: 7, ttl: Millis(30_000) };
    let reply = world.client(Command::TaskAcquire { claim, request, stall_limit: None }).await;
    assert!(matches!(reply, Reply::Task(_)), "{reply:?}");
}

/// A workflow with a call that takes 90 s and sends a heartbeat every second.
fn long() -> Arc<Script> {
    Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move { ctx.done(ctx.call("work", "1")).await })
            .activity("work", |attempt| async move {
                for _ in 0..90 {
                    attempt.heartbeat("1").await;
                    attempt.sleep(1_000).await;
                }
                attempt.succeed(attempt.context.attempt.to_string())
            }),
    )
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn heartbeats_keep_a_long_claim() {
    let mut world = begun(&long(), Plan::default()).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_lease_ends_while_fewer_heartbeats_fail_than_the_margin_covers() {
    let mut world = begun(&long(), Plan::default()).await;
    world.stands("it/0", TaskStatus::Acquired).await;
    let version = world.task("it/0").await.version;
    // The fault may begin at any time. It lasts just less than two of the three heartbeats of a
    // lease.
    for begins in [0, 1_700, 3_400] {
        world.pass(Millis(begins)).await;
        world.probe.refuse(|command| command.name() == "task-heartbeat");
        for tenth in 0..160 {
            if tenth == 95 {
                world.probe.relent();
            }
            world.pass(Millis(100)).await;
            let task = world.task("it/0").await;
            let until = task.lease().expect("it is held").until;
            assert!(until > world.clock.now(), "it ended {begins} and {tenth} tenths in");
            assert_eq!(task.version, version);
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_holder_whose_lease_ran_out_writes_nothing_and_another_claim_goes_on() {
    let script = long();
    let mut world = begun(&script, Plan::default()).await;
    world.pass(SECOND).await;
    // No heartbeat is stored, and this host claims no task.
    world.probe.refuse(|command| matches!(command.name(), "task-heartbeat" | "task-acquire"));
    world.stands("it/0", TaskStatus::Pending).await;
    stolen(&world, "it/0").await;
    let theirs = world.task("it/0").await.version;
    // The first attempt ends, and tries to report it.
    world.pass(Millis(20_000)).await;
    world.probe.relent();
    world.pass(Millis(9_000)).await;
    assert_eq!(world.task("it/0").await.version, theirs, "the other claim stands");
    assert!(world.promise("it/0").await.expect("it is there").is_pending());
    // The other host dies as well, before its attempt begins. Its lease expires, and this host
    // claims the task again.
    let (verdict, attempt) = world.outcome("it").await;
    assert_eq!((verdict, attempt), (Verdict::Resolved, json!(2)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_clock_that_jumps_over_a_lease_costs_an_attempt_and_nothing_else() {
    let script = long();
    let mut world = begun(&script, Plan::default()).await;
    world.pass(SECOND).await;
    world.clock.jump(Millis(3_600_000));
    let (verdict, _) = world.outcome("it").await;
    assert_eq!(verdict, Verdict::Resolved);
    assert_eq!(world.story("it").await.len(), 4);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_guest_that_makes_no_progress_is_interrupted_at_the_stall_limit() {
    let hang = Arc::new(AtomicU32::new(0));
    let script = Arc::new(Script::default().workflow("flow", move |ctx| {
        let first = hang.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if first { ctx.hang().await } else { Ok("1".into()) } }
    }));
    let limit = Millis(60_000);
    let config = Config { stall_limit: Some(limit), ..Config::default() };
    let bound = limit + config.scan_period + SECOND;
    let mut world = begun(&script, Plan { config, ..Plan::default() }).await;
    let began = world.clock.now();
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
    let took = world.clock.now().since(began);
    assert!(took >= limit && took <= bound, "{took:?}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_new_life_goes_on_at_once_with_what_the_last_one_held() {
    let script = long();
    let mut world = begun(&script, Plan::default()).await;
    world.pass(SECOND).await;
    let died = world.clock.now();
    world.boot().await;
    world.pass(Millis(100)).await;
    let task = world.task("it/0").await;
    let lease = task.lease().expect("it is held again");
    assert_eq!(lease.holder.incarnation, 2);
    assert!(world.clock.now().since(died) < SECOND);
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(2)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_that_stops_gives_back_what_runs_and_suspends_what_waits() {
    let script = long();
    let mut world = begun(&script, Plan::default()).await;
    world.pass(Millis(60)).await;
    assert_eq!(world.task("it").await.status(), TaskStatus::Acquired, "it waits warm");
    let left = world.shutdown(Millis(5_000)).await;
    assert_eq!(left, 1, "the activity");
    assert_eq!(world.task("it").await.status(), TaskStatus::Suspended);
    let task = world.task("it/0").await;
    assert_eq!((task.status(), task.attempt), (TaskStatus::Pending, 0));
    let stopped = world.clock.now();
    world.boot().await;
    world.pass(Millis(100)).await;
    assert_eq!(world.task("it/0").await.status(), TaskStatus::Acquired);
    assert!(world.clock.now().since(stopped) < SECOND, "at once");
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(1)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_host_that_stops_lets_what_is_short_come_to_its_end() {
    let script = Arc::new(Script::default().activity("work", |attempt| async move {
        attempt.sleep(2_000).await;
        attempt.succeed("1")
    }));
    let mut world = World::scripted(&script).await;
    world.start("it", "wasm://m/work", &json!(null)).await;
    world.pass(SECOND).await;
    assert_eq!(world.shutdown(Millis(5_000)).await, 0);
    assert!(!world.promise("it").await.expect("it is there").is_pending());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn everything_finishes_by_scans_alone_when_every_hint_is_lost() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let first = ctx.call("work", "1");
                let second = ctx.call("child", "1");
                let (promise, _) = ctx.promise(Some("go"));
                ctx.done(first).await?;
                ctx.done(second).await?;
                ctx.done(promise).await?;
                let (_, payload) = ctx.signal().await;
                ctx.call("endless", "1");
                Ok(payload)
            })
            .signals()
            .workflow("child", |ctx| async move {
                ctx.done(ctx.sleep(1_000)).await?;
                ctx.done(ctx.call("work", "1")).await
            })
            .workflow("endless", |ctx| async move { ctx.done(ctx.sleep(864_000_000)).await })
            .activity("work", |attempt| async move {
                if attempt.context.attempt == 1 { attempt.fail(500) } else { attempt.succeed("1") }
            }),
    );
    for plan in [Plan::default(), cold()] {
        let mut world = begun(&script, Plan { deaf: true, ..plan }).await;
        world.until("the promise", async |world| world.promise("it/p/go").await.is_some()).await;
        world.resolve("it/p/go", &json!(1)).await;
        world.signal("it", "s", &json!(5)).await;
        assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(5)));
        assert_ne!(world.outcome("it/3").await.0, Verdict::Resolved, "the child was cancelled");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn more_work_than_room_is_done_all_the_same() {
    let script = Arc::new(
        Script::default()
            .workflow("flow", |ctx| async move {
                let calls: Vec<u32> = (0..10).map(|n| ctx.call("work", &n.to_string())).collect();
                for call in calls {
                    ctx.done(call).await?;
                }
                Ok("10".into())
            })
            .activity("work", |attempt| async move {
                attempt.sleep(1_000).await;
                attempt.succeed("1")
            }),
    );
    let mut plan = cold();
    plan.worker.slots = 2;
    let mut world = begun(&script, plan).await;
    assert_eq!(world.outcome("it").await, (Verdict::Resolved, json!(10)));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_store_that_does_not_answer_for_a_while_costs_time_only() {
    let script = long();
    let mut world = begun(&script, Plan::default()).await;
    for _ in 0..3 {
        world.pass(Millis(5_000)).await;
        world.probe.refuse(|_| true);
        world.pass(Millis(40_000)).await;
        world.probe.relent();
    }
    assert_eq!(world.outcome("it").await.0, Verdict::Resolved);
    assert_eq!(world.journal("it").await.len(), 4);
}
