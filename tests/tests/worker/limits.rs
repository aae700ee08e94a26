//! Limits: the number of running executions, their rate, and the effect of crashes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use segno_core::{
    command::Command,
    id::PromiseId,
    limit::{AdmissionRule, LimitName, LimitPositionState},
    object::ModuleFacts,
    promise::{OutboxMessageKind, TaskStatus, Verdict},
    reply::Reply,
    time::{Millis, Timestamp},
    value::Text,
};
use segno_env::Clock as _;
use segno_sim::{CommitFault, PlannedFaults};
use segno_store::Store as _;
use serde_json::json;
use tests::world::{
    Plan, World,
    script::{Script, ScriptContext},
};

use super::cold;

/// Number of running executions, their maximum by key, and the start of each.
#[derive(Default)]
struct Watch {
    running: BTreeMap<String, u32>,
    most: BTreeMap<String, u32>,
    began: Vec<(String, Timestamp)>,
}

type Watched = Arc<Mutex<Watch>>;

fn watch(watched: &Watched) -> std::sync::MutexGuard<'_, Watch> {
    watched.lock().expect("no test panics with it")
}

/// Runs for 1 s, and is counted meanwhile.
async fn counted(ctx: ScriptContext, watched: Watched) -> Result<String, (u32, String)> {
    let input: serde_json::Value = serde_json::from_str(&ctx.input()).unwrap_or_default();
    let key = input["k"].as_str().unwrap_or_default().to_owned();
    let now = Timestamp(i64::try_from(ctx.now()).expect("a time"));
    {
        let mut watch = watch(&watched);
        for key in [key.clone(), "in all".to_owned()] {
            let running = watch.running.entry(key.clone()).or_default();
            *running += 1;
            let running = *running;
            let most = watch.most.entry(key).or_default();
            *most = running.max(*most);
        }
        watch.began.push((ctx.context().invocation.clone(), now));
    }
    let slept = ctx.sleep(1_000);
    ctx.done(slept).await?;
    for key in [key, "in all".to_owned()] {
        *watch(&watched).running.entry(key).or_default() -= 1;
    }
    Ok("\"done\"".into())
}

fn script(watched: &Watched) -> Arc<Script> {
    let flow = |watched: &Watched| {
        let watched = watched.clone();
        move |ctx: ScriptContext| counted(ctx, watched.clone())
    };
    let script = Script::default()
        .workflow("pack", flow(watched))
        .workflow("mail", flow(watched))
        .workflow("only", flow(watched))
        .workflow("calm", flow(watched))
        .workflow("calls", async |ctx: ScriptContext| {
            let calls: Vec<u32> = ["a", "a", "b"]
                .iter()
                .map(|key| ctx.call("pack", &json!({ "k": key }).to_string()))
                .collect();
            for call in calls {
                ctx.done(call).await?;
            }
            let slow: Vec<u32> = (0..3).map(|n| ctx.call("slow", &n.to_string())).collect();
            for call in slow {
                ctx.done(call).await?;
            }
            Ok("\"all\"".into())
        })
        .activity("slow", async |attempt| {
            attempt.sleep(500).await;
            attempt.succeed("1")
        });
    Arc::new(script)
}

fn facts() -> ModuleFacts {
    let limits = [
        ("pack", r#"{"key":"k","per_key":{"concurrency":1},"total":{"concurrency":2}}"#),
        ("mail", r#"{"per_key":{"rate":{"count":2,"period_ms":1000,"burst":3}}}"#),
        ("only", r#"{"key":"k","singleton":"skip"}"#),
        ("calm", r#"{"key":"k","debounce":{"period_ms":5000}}"#),
        ("slow", r#"{"per_key":{"concurrency":1}}"#),
    ];
    let rule = |json| serde_json::from_str::<AdmissionRule>(json).expect("a rule");
    let limits = limits.map(|(function, json)| (Text::from(function), rule(json)));
    ModuleFacts { limits: limits.into(), ..ModuleFacts::default() }
}

fn plan() -> Plan {
    Plan { facts: facts(), ..Plan::default() }
}

async fn world(watched: &Watched) -> World {
    World::with(plan(), &script(watched)).await
}

/// Checks that the counters are 0, and that no message is left.
async fn is_quiet(world: &World) {
    let rows = world.memory.read().dump().await.expect("memory answers");
    for (name, limit) in &rows.limits {
        assert_eq!((limit.running, limit.waiting), (0, 0), "{name}");
    }
    assert!(rows.outbox.keys().all(|key| key.kind() != OutboxMessageKind::LeaveLimit));
    assert!(rows.places.values().all(|place| place.state == LimitPositionState::Left));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_more_run_at_a_time_than_may_of_each_key_and_in_all() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    for place in 0..9 {
        let key = ["a", "b", "c"][place % 3];
        world.start(&format!("x{place}"), "wasm://m/pack", &json!({ "k": key })).await;
    }
    world.boot().await;
    for place in 0..9 {
        assert_eq!(world.outcome(&format!("x{place}")).await.0, Verdict::Resolved);
    }
    {
        let watch = watch(&watched);
        for (key, most) in [("a", 1), ("b", 1), ("c", 1), ("in all", 2)] {
            assert_eq!(watch.most[key], most, "{key}");
        }
        let first = watch.began.first().expect("one began").1;
        let last = watch.began.last().expect("one began").1;
        let took = last.since(first);
        assert!((4_000..5_500).contains(&took.0), "nine seconds of work, two at a time: {took:?}");
    }
    world.pass(Millis(5_000)).await;
    is_quiet(&world).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn they_begin_as_fast_as_the_rate_says_and_no_faster() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    world.boot().await;
    for place in 0..9 {
        world.start(&format!("x{place}"), "wasm://m/mail", &json!({})).await;
    }
    for place in 0..9 {
        world.outcome(&format!("x{place}")).await;
    }
    let began: Vec<Timestamp> = watch(&watched).began.iter().map(|(_, at)| *at).collect();
    let after = |place: usize| began[place].since(began[0]).0;
    assert!(after(2) < 100, "three tokens were there: {began:?}");
    for place in 3..9 {
        let due = (place as i64 - 2) * 500;
        assert!((due - 20..due + 200).contains(&after(place)), "{place}: {began:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn calls_and_activities_are_behind_the_limits_of_their_functions() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    world.start("w", "wasm://m/calls", &json!(null)).await;
    world.boot().await;
    let began = world.clock.now();
    assert_eq!(world.outcome("w").await, (Verdict::Resolved, json!("all")));
    assert_eq!(watch(&watched).most["a"], 1);
    let took = world.clock.now().since(began);
    assert!(took.0 >= 2_000 + 1_500, "two of a key, then three attempts, one at a time: {took:?}");
    world.pass(Millis(5_000)).await;
    is_quiet(&world).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_singleton_says_who_is_there_and_a_debounce_lets_the_last_one_begin() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    world.boot().await;
    for id in ["a", "b"] {
        world.start(id, "wasm://m/only", &json!({ "k": "x" })).await;
        world.start(&format!("late-{id}"), "wasm://m/calm", &json!({ "k": "x" })).await;
    }
    let (verdict, why) = world.outcome("b").await;
    assert_eq!((verdict, &why["code"]), (Verdict::Rejected, &json!(409)));
    assert_eq!(why["details"]["other"], json!("a"));
    assert_eq!(world.outcome("a").await.0, Verdict::Resolved);
    assert_eq!(world.outcome("late-a").await.0, Verdict::Rejected);
    let before = world.clock.now();
    assert_eq!(world.outcome("late-b").await.0, Verdict::Resolved);
    assert!(world.clock.now().since(before).0 > 3_000, "it was quiet for five seconds");
    world.start("again", "wasm://m/only", &json!({ "k": "x" })).await;
    assert_eq!(world.outcome("again").await.0, Verdict::Resolved);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_operator_changes_a_limit_while_executions_wait_behind_it() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    let name = LimitName::of("m", "pack");
    let set = |json: Option<&str>| Command::LimitSet {
        name: name.clone(),
        rule: json.map(|json| serde_json::from_str(json).expect("a rule")),
    };
    for place in 0..6 {
        world.start(&format!("x{place}"), "wasm://m/pack", &json!({ "k": "a" })).await;
    }
    world.boot().await;
    world.until("the first one runs", async |world| world.journal("x0").await.len() > 1).await;
    let raised = r#"{"key":"k","per_key":{"concurrency":6}}"#;
    assert_eq!(world.client(set(Some(raised))).await, Reply::Done);
    for place in 0..6 {
        world.outcome(&format!("x{place}")).await;
    }
    assert!(watch(&watched).most["a"] >= 5, "{:?}", watch(&watched).most);
    assert_eq!(world.client(set(None)).await, Reply::Done);
    for id in ["y0", "y1"] {
        world.start(id, "wasm://m/pack", &json!({ "k": "a" })).await;
    }
    world.stands("y1", TaskStatus::Suspended).await;
    world.outcome("y1").await;
    world.pass(Millis(5_000)).await;
    is_quiet(&world).await;
}

/// A limit under which all executions run, directly or indirectly.
async fn all_with(faults: PlannedFaults, plan: Plan) -> (String, World) {
    let mut world = World::with(Plan { faults, ..plan }, &script(&Watched::default())).await;
    for (id, key) in [("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")] {
        world.start(id, "wasm://m/pack", &json!({ "k": key })).await;
    }
    world.start("w", "wasm://m/calls", &json!(null)).await;
    world.start("m", "wasm://m/mail", &json!({})).await;
    let mut seen = String::new();
    for id in ["a", "b", "c", "d", "w", "m"] {
        let (verdict, value) = world.outcome(id).await;
        seen.push_str(&format!("{id} {verdict:?} {value}\n"));
    }
    world.pass(Millis(10_000)).await;
    is_quiet(&world).await;
    (seen, world)
}

/// The predicates over rows and steps are checked after every commit of every run.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nobody_is_forgotten_or_counted_twice_whatever_fails_at_whichever_commit() {
    let cold = || Plan { facts: facts(), ..cold() };
    for settings in [&plan as &dyn Fn() -> Plan, &cold] {
        let (expected, undisturbed) = all_with(PlannedFaults::default(), settings()).await;
        assert!(expected.contains("c Resolved"), "{expected}");
        let commits = undisturbed.faults.commits();
        assert!((20..500).contains(&commits), "{commits}");
        for commit in 0..commits {
            for fault in CommitFault::ALL {
                let (seen, world) = all_with(PlannedFaults::at(commit, fault), settings()).await;
                assert_eq!(seen, expected, "{fault:?} at commit {commit}");
                assert!(world.faults.injected() || commit + 12 > commits, "{fault:?} at {commit}");
            }
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_waits_is_killed_and_cancelled_at_once_and_the_others_go_on() {
    let watched = Watched::default();
    let mut world = world(&watched).await;
    for id in ["a", "b", "c", "d"] {
        world.start(id, "wasm://m/pack", &json!({ "k": "x" })).await;
    }
    world.client(Command::Cancel { invocation: PromiseId::from("b") }).await;
    world.client(Command::Kill { invocation: PromiseId::from("c") }).await;
    for id in ["b", "c"] {
        assert_eq!(world.outcome(id).await.0, Verdict::Canceled);
        assert!(world.journal(id).await.is_empty());
    }
    assert_eq!(world.outcome("d").await.0, Verdict::Resolved);
}
