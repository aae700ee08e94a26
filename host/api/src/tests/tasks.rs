//! Tasks, their holders, and operators' commands on them.

use segno_core::{
    command::{ClaimRequest, Command, HeartbeatItem},
    id::{Claim, Holder, Version},
    reply::Reply,
    time::Millis,
};
use serde_json::{Value, json};

use super::ApiWorld;

/// Creates a task of an external worker that holds it.
async fn held(world: &ApiWorld, id: &str, pid: &str) -> Claim {
    let tags = json!({ "target": "poll://any@packers" });
    world
        .post("/v1/promises", json!({ "id": id, "tags": tags, "param": { "func": "pack" } }))
        .await
        .ok();
    let claim = Claim { id: id.into(), version: Version(0) };
    let request = ClaimRequest { holder: Holder::worker(pid), nonce: 1, ttl: Millis(60_000) };
    match world.command(Command::TaskAcquire { claim, request, stall_limit: None }).await {
        Reply::Task(task) => Claim { id: id.into(), version: task.task.version },
        other => panic!("{other:?}"),
    }
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_task_says_who_holds_it_until_when_and_at_which_version() {
    let world = ApiWorld::shop().await;
    held(&world, "pack-1", "w1").await;
    let task = world.get("/v1/tasks/pack-1").await.ok();
    assert_eq!((&task["state"], &task["holder"]), (&json!("acquired"), &json!("w1")));
    assert_eq!((&task["version"], &task["ttl_ms"]), (&json!(1), &json!(60_000)));
    assert_eq!(
        (&task["function"], &task["target"]),
        (&json!("pack"), &json!("poll://any@packers"))
    );
    assert!(task["until_at_ms"].is_i64() && task.get("retry_at_ms").is_none(), "{task}");
    world.start("ship-1").await.ok();
    world.halt("ship-1").await;
    let task = world.get("/v1/tasks/ship-1").await.ok();
    assert_eq!((&task["state"], &task["halted"]), (&json!("halted"), &json!("reported")));
    assert_eq!(task["note"]["kind"], "divergence");
    world.gate("gate").await;
    assert!(world.get("/v1/tasks/gate").await.problem(404, "unknown-task").contains("no task"));
    world.get("/v1/tasks/nothing").await.problem(404, "unknown-task");
}

#[tokio::test]
async fn what_an_activity_says_of_its_progress_is_shown_until_it_ends() {
    let world = ApiWorld::shop().await;
    world.start("ship-1").await.ok();
    let claim = world.acquire("ship-1").await;
    assert!(world.get("/v1/tasks/ship-1").await.ok().get("progress").is_none());
    let holder = Holder { node: "test".into(), incarnation: 1 };
    for (seq, bytes, shown) in [
        (1, &b"{\"parcels\":3}"[..], json!({ "parcels": 3 })),
        (2, &[0, 0xff, 0xfe][..], json!({ "base64": "//4=" })),
    ] {
        let progress = Some((seq, Some(bytes.to_vec().into())));
        let items = vec![HeartbeatItem { claim: claim.clone(), progress }];
        world.command(Command::TaskHeartbeat { holder: holder.clone(), items }).await;
        for path in ["/v1/tasks/ship-1", "/v1/invocations/ship-1"] {
            let progress = &world.get(path).await.ok()["progress"];
            assert_eq!(progress["value"], shown, "{path}");
            assert!(progress["at_ms"].is_i64(), "{progress}");
        }
    }
    let verdict = segno_core::promise::Verdict::Resolved;
    let value = segno_core::value::Value::of(&b"1"[..]);
    let (records, logs) = (vec![], vec![]);
    world.command(Command::TaskFulfill { claim, records, logs, verdict, value }).await;
    assert!(world.get("/v1/invocations/ship-1").await.ok().get("progress").is_none());
}

#[tokio::test]
async fn tasks_are_listed_by_state_holder_and_id_newest_first() {
    let world = ApiWorld::shop().await;
    for (id, pid) in [("a1", "w1"), ("a2", "w2"), ("b1", "w1")] {
        held(&world, id, pid).await;
    }
    world.start("ship").await.ok();
    world.acquire("ship").await;
    world.start("open").await.ok();
    let list = async |query: &str| world.get(&format!("/v1/tasks?{query}")).await.ok();
    assert_eq!(ids(&list("").await), ["open", "ship", "b1", "a2", "a1"]);
    assert_eq!(ids(&list("state=acquired").await), ["ship", "b1", "a2", "a1"]);
    assert_eq!(ids(&list("state=pending").await), ["open"]);
    assert_eq!(ids(&list("holder=w1").await), ["b1", "a1"]);
    assert_eq!(ids(&list("holder=test").await), ["ship"], "a host by its name");
    assert_eq!(ids(&list("holder=w1&prefix=a").await), ["a1"]);
    assert_eq!(ids(&list("holder=nobody").await), Vec::<&str>::new());
    let page = list("limit=2").await;
    assert_eq!(ids(&page), ["open", "ship"]);
    let next = page["next"].as_str().expect("there is more");
    assert_eq!(ids(&list(&format!("limit=9&after={next}")).await), ["b1", "a2", "a1"]);
    for (query, field) in [("state=fulfilled", "state"), ("limit=0", "limit"), ("after=x", "after")]
    {
        let answer = world.get(&format!("/v1/tasks?{query}")).await;
        assert!(answer.problem(400, "invalid-field").contains(field), "{query}");
    }
}

#[tokio::test]
async fn a_task_is_halted_continued_and_taken_from_its_holder() {
    let world = ApiWorld::new();
    let claim = held(&world, "t", "w1").await;
    let path = |verb: &str| format!("/v1/invocations/t/{verb}");
    let stale = world.post(&path("release"), json!({ "version": 7 })).await;
    stale.problem(409, "stale-version");
    let released = world.post(&path("release"), json!({ "version": claim.version.0 })).await.ok();
    assert_eq!(released, json!({ "id": "t", "changed": true }));
    assert_eq!(world.get("/v1/tasks/t").await.ok()["state"], "pending");
    let answer = world.post(&path("release"), json!({})).await;
    assert!(answer.problem(409, "wrong-state").contains("a task that has a holder"));
    // A further write of the former holder is refused.
    let late = Command::TaskHalt { id: "nobody".into() };
    let late =
        [late, Command::TaskRelease { claim, reason: segno_core::promise::ReleaseReason::Yield }];
    let replies = world.api.host.store.execute(late.to_vec()).await.expect("replies");
    assert!(replies.iter().all(|reply| matches!(reply, Reply::Refused(_))), "{replies:?}");
    assert_eq!(world.post(&path("halt"), json!({})).await.ok()["changed"], true);
    assert_eq!(world.post(&path("halt"), json!({})).await.ok()["changed"], false);
    assert_eq!(world.get("/v1/tasks/t").await.ok()["halted"], "requested");
    world.post(&path("continue"), json!({})).await.ok();
    assert_eq!(world.get("/v1/tasks/t").await.ok()["state"], "pending");
    world.post("/v1/promises/t/resolve", json!({})).await.ok();
    for verb in ["halt", "release"] {
        world.post(&path(verb), json!({})).await.problem(409, "already-settled");
        let nobody = format!("/v1/invocations/nobody/{verb}");
        world.post(&nobody, json!({})).await.problem(404, "unknown-invocation");
    }
}

#[tokio::test]
async fn what_has_not_ended_is_cancelled_and_removed_in_one_request() {
    let world = ApiWorld::shop().await;
    world.start("ship-1").await.ok();
    world.acquire("ship-1").await;
    let remove = async |query: &str| {
        let path = format!("/v1/invocations/ship-1{query}");
        world.send(axum::http::Method::DELETE, &path, axum::body::Body::empty()).await
    };
    let refused = remove("").await;
    let said = refused.problem(409, "not-removable");
    assert!(said.contains("`?cancel=true`"), "{said}");
    remove("?grace_ms=5").await.problem(400, "invalid-field");
    remove("?cancel=true&grace_ms=300001").await.problem(400, "invalid-field");
    // No worker holds it and could clean up, so it is killed.
    assert_eq!(remove("?cancel=true&grace_ms=50").await.ok()["promises"], 1);
    world.get("/v1/invocations/ship-1").await.problem(404, "unknown-invocation");
}
