//! Each operation: its effects and its refusals.

use serde_json::{Value as Json, json};

use super::world::{ResonateWorld, create};

const NEVER: i64 = 9_000_000_000_000;

#[tokio::test]
async fn a_promise_is_made_read_and_settled_once() {
    let world = ResonateWorld::new();
    let data = json!({ "id": "p", "timeoutAt": NEVER, "param": { "headers": {}, "data": "NA==" } });
    let made = world.done("promise.create", data.clone()).await;
    assert_eq!(made["promise"]["state"], "pending");
    assert_eq!(made["promise"]["param"], json!({ "headers": {}, "data": "NA==" }));
    assert_eq!(made["promise"]["value"], json!({}));
    assert_eq!(made["promise"].get("settledAt"), None);
    assert_eq!(world.done("promise.create", data).await, made, "the id is the key");
    assert_eq!(world.done("promise.get", json!({ "id": "p" })).await, made);
    let settle = |state| json!({ "id": "p", "state": state, "value": { "data": "NQ==" } });
    let settled = world.done("promise.settle", settle("rejected")).await;
    assert_eq!(settled["promise"]["state"], "rejected");
    assert_eq!(settled["promise"]["value"], json!({ "data": "NQ==" }));
    assert!(settled["promise"]["settledAt"].is_i64());
    assert_eq!(world.done("promise.settle", settle("resolved")).await, settled);
}

#[tokio::test]
async fn a_deadline_that_has_come_settles_at_birth() {
    let world = ResonateWorld::new();
    for (tags, state) in [
        (json!({}), "rejected_timedout"),
        (json!({ "resonate:timer": "true" }), "resolved"),
        (json!({ "resonate:target": "poll://any@g" }), "rejected_timedout"),
    ] {
        let id = tags.to_string();
        let data = json!({ "id": id, "timeoutAt": 5, "tags": tags });
        let made = world.done("promise.create", data).await["promise"].clone();
        assert_eq!(
            (&made["state"], &made["createdAt"], &made["settledAt"]),
            (&json!(state), &json!(5), &json!(5))
        );
    }
    let task =
        world.done("task.get", json!({ "id": r#"{"resonate:target":"poll://any@g"}"# })).await;
    assert_eq!(task["task"]["state"], "fulfilled");
    assert_eq!(task["task"]["version"], 0);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name() {
    let world = ResonateWorld::new();
    world.done("promise.create", json!({ "id": "plain", "timeoutAt": NEVER })).await;
    let version = world.task("t").await;
    let action = |kind: &str, data: Json| json!({ "kind": kind, "data": data });
    let wait = |awaited: &str| {
        action("promise.register_callback", json!({ "awaited": awaited, "awaiter": "t" }))
    };
    for (kind, data, status, says) in [
        ("promise.create", json!({}), 400, "missing field `id`"),
        ("promise.create", json!({ "id": "", "timeoutAt": 1 }), 400, "`id` is empty"),
        ("promise.create", json!({ "id": "a\0", "timeoutAt": 1 }), 400, "NUL"),
        ("promise.create", json!({ "id": "a", "timeoutAt": -1 }), 400, "negative"),
        ("promise.create", json!({ "id": "a", "timeoutAt": "1" }), 400, "expected i64"),
        ("promise.create", create("a", "nowhere"), 400, "not an address"),
        ("promise.create", create("a", "wasm://shop/order"), 422, "not deployed"),
        (
            "promise.create",
            json!({ "id": "a", "timeoutAt": 9, "tags": { "resonate:delay": "1" } }),
            400,
            "needs the tag",
        ),
        (
            "promise.create",
            json!({ "id": "a", "timeoutAt": 9, "tags": { "resonate:delay": "soon" } }),
            400,
            "no time",
        ),
        (
            "promise.create",
            json!({ "id": "a", "timeoutAt": 9, "tags": { "resonate:delay": "9" } }),
            400,
            "not before",
        ),
        ("promise.get", json!({ "id": "none" }), 404, "does not exist"),
        ("promise.settle", json!({ "id": "none", "state": "resolved" }), 404, "does not exist"),
        (
            "promise.settle",
            json!({ "id": "plain", "state": "rejected_timedout" }),
            400,
            "cannot be settled",
        ),
        ("promise.register_callback", json!({ "awaited": "t", "awaiter": "t" }), 400, "itself"),
        (
            "promise.register_callback",
            json!({ "awaited": "none", "awaiter": "t" }),
            404,
            "does not exist",
        ),
        (
            "promise.register_callback",
            json!({ "awaited": "t", "awaiter": "plain" }),
            422,
            "no task",
        ),
        (
            "promise.register_listener",
            json!({ "awaited": "none", "address": "poll://any@g" }),
            404,
            "does not exist",
        ),
        (
            "promise.register_listener",
            json!({ "awaited": "t", "address": "g" }),
            400,
            "not an address",
        ),
        ("promise.search", json!({ "limit": 0 }), 400, "between"),
        ("promise.search", json!({ "limit": 1001 }), 400, "between"),
        ("promise.search", json!({ "state": "odd" }), 400, "no state"),
        ("task.get", json!({ "id": "plain" }), 404, "does not exist"),
        ("task.create", json!({ "pid": "w", "ttl": 0, "action": {} }), 400, "kind"),
        (
            "task.create",
            json!({ "pid": "w", "ttl": 0, "action": action("promise.create", create("n", "poll://any@g")) }),
            400,
            "`ttl`",
        ),
        (
            "task.create",
            json!({ "pid": "", "ttl": 1, "action": action("promise.create", create("n", "poll://any@g")) }),
            400,
            "`pid`",
        ),
        (
            "task.create",
            json!({ "pid": "w", "ttl": 1, "action": action("promise.settle", json!({})) }),
            400,
            "where promise.create",
        ),
        (
            "task.create",
            json!({ "pid": "w", "ttl": 1, "action": action("promise.create", json!({ "id": "n", "timeoutAt": NEVER })) }),
            400,
            "resonate:target",
        ),
        (
            "task.create",
            json!({ "pid": "w", "ttl": 1, "action": action("promise.create", create("t", "poll://any@g")) }),
            409,
            "held by another",
        ),
        (
            "task.acquire",
            json!({ "id": "none", "version": 0, "pid": "w", "ttl": 1 }),
            404,
            "does not exist",
        ),
        (
            "task.acquire",
            json!({ "id": "t", "version": version, "pid": "w", "ttl": 1 }),
            409,
            "acquired",
        ),
        (
            "task.acquire",
            json!({ "id": "t", "version": -1, "pid": "w", "ttl": 1 }),
            400,
            "expected u64",
        ),
        ("task.release", json!({ "id": "t", "version": version + 1 }), 409, ""),
        ("task.suspend", json!({ "id": "t", "version": version, "actions": [] }), 400, "empty"),
        (
            "task.suspend",
            json!({ "id": "t", "version": version, "actions": [wait("plain"), wait("plain")] }),
            400,
            "twice",
        ),
        (
            "task.suspend",
            json!({ "id": "t", "version": version, "actions": [wait("t")] }),
            400,
            "not a wait",
        ),
        (
            "task.suspend",
            json!({ "id": "t", "version": version, "actions": [wait("none")] }),
            422,
            "does not exist",
        ),
        (
            "task.suspend",
            json!({ "id": "t", "version": version + 1, "actions": [wait("plain")] }),
            409,
            "",
        ),
        (
            "task.fulfill",
            json!({ "id": "t", "version": version, "action": action("promise.settle", json!({ "id": "o", "state": "resolved" })) }),
            400,
            "cannot fulfill",
        ),
        (
            "task.fence",
            json!({ "id": "t", "version": version, "action": action("promise.get", json!({})) }),
            400,
            "cannot be done under a claim",
        ),
        (
            "task.fence",
            json!({ "id": "t", "version": version, "action": action("promise.settle", json!({ "id": "t", "state": "resolved" })) }),
            400,
            "cannot be about",
        ),
        (
            "task.fence",
            json!({ "id": "t", "version": 99, "action": action("promise.settle", json!({ "id": "o", "state": "resolved" })) }),
            409,
            "",
        ),
        ("task.heartbeat", json!({ "pid": "" }), 400, "`pid`"),
        ("task.halt", json!({ "id": "none" }), 404, "does not exist"),
        ("task.continue", json!({ "id": "t" }), 409, "acquired"),
        ("promise.delete", json!({}), 400, "Unknown operation"),
    ] {
        let (answered, message) = world.ask(kind, data.clone()).await;
        assert_eq!(answered, status, "{kind} {data}: {message}");
        let message = message.as_str().expect("a refusal is text");
        assert!(message.contains(says), "{kind} {data}: {message}");
    }
}

#[tokio::test]
async fn a_workflow_with_a_child_goes_its_way() {
    let world = ResonateWorld::new();
    let version = world.task("root").await;
    let fence = |data: Json| json!({ "id": "root", "version": version, "action": { "kind": "promise.create", "head": {}, "data": data } });
    let made = world.done("task.fence", fence(create("root:0", "poll://any@g"))).await;
    assert_eq!(made["preload"], json!([]));
    let inner = &made["action"];
    assert_eq!(
        (&inner["kind"], &inner["head"]["status"], &inner["head"]["corrId"]),
        (&json!("promise.create"), &json!(200), &json!("c"))
    );
    assert_eq!(
        inner["data"]["promise"]["tags"],
        json!({ "resonate:target": "poll://any@g", "resonate:branch": "root:0" }),
        "nothing is added"
    );
    let step = json!({ "id": "root:1", "timeoutAt": NEVER, "tags": { "resonate:branch": "root" } });
    world.done("task.fence", fence(step)).await;
    let waits = json!([{ "kind": "promise.register_callback", "data": { "awaited": "root:0", "awaiter": "root" } }]);
    let suspend = |version: u64| json!({ "id": "root", "version": version, "actions": waits });
    assert_eq!(world.done("task.suspend", suspend(version)).await, json!({}));
    let child = world
        .done("task.acquire", json!({ "id": "root:0", "version": 0, "pid": "v", "ttl": 1000 }))
        .await;
    assert_eq!(
        (&child["task"]["pid"], &child["task"]["ttl"], &child["task"]["resumes"]),
        (&json!("v"), &json!(1000), &json!(0))
    );
    let settle = json!({ "kind": "promise.settle", "data": { "id": "root:0", "state": "resolved", "value": { "data": "MQ==" } } });
    world.done("task.fulfill", json!({ "id": "root:0", "version": 1, "action": settle })).await;
    let woken = world.done("task.get", json!({ "id": "root" })).await;
    assert_eq!(
        (&woken["task"]["state"], &woken["task"]["resumes"]),
        (&json!("pending"), &json!(1))
    );
    let again = world
        .done("task.acquire", json!({ "id": "root", "version": version, "pid": "w", "ttl": 1000 }))
        .await;
    let preloaded: Vec<&str> = again["preload"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|step| step["id"].as_str())
        .collect();
    assert_eq!(preloaded, ["root:1"], "the same branch, without itself");
    let (status, ready) = world.ask("task.suspend", suspend(version + 1)).await;
    assert_eq!((status, ready), (300, json!({ "preload": [] })), "the child is done already");
    let settle = json!({ "kind": "promise.settle", "data": { "id": "root", "state": "resolved" } });
    world
        .done("task.fulfill", json!({ "id": "root", "version": version + 1, "action": settle }))
        .await;
    let done = world.done("task.get", json!({ "id": "root" })).await;
    assert_eq!(
        done["task"],
        json!({ "id": "root", "state": "fulfilled", "version": version + 1, "resumes": 0 })
    );
}

#[tokio::test]
async fn a_child_outlives_the_task_that_made_it() {
    let world = ResonateWorld::new();
    let version = world.task("root").await;
    let data = create("root:d1", "poll://any@g");
    world.done("task.fence", json!({ "id": "root", "version": version, "action": { "kind": "promise.create", "data": data } })).await;
    let settle = json!({ "kind": "promise.settle", "data": { "id": "root", "state": "resolved" } });
    world.done("task.fulfill", json!({ "id": "root", "version": version, "action": settle })).await;
    let child = world.done("promise.get", json!({ "id": "root:d1" })).await;
    assert_eq!(child["promise"]["state"], "pending");
    let dump = world.stores().read().dump().await.expect("a dump");
    assert_eq!(dump.outbox.len(), 1, "the child's offer, and nothing to cancel it");
}

#[tokio::test]
async fn heartbeats_extend_what_is_named_or_everything() {
    let world = ResonateWorld::new();
    world.task("a").await;
    world.task("b").await;
    let lease = async |id: &str| {
        let row = world.stores().read().promise(&id.into()).await.expect("a store").expect("a row");
        row.task.and_then(|task| task.last_heartbeat)
    };
    let beat = |tasks: Json| json!({ "pid": "w", "tasks": tasks });
    assert_eq!(
        world
            .done(
                "task.heartbeat",
                beat(json!([{ "id": "a", "version": 1 }, { "id": "none", "version": 7 }]))
            )
            .await,
        json!({})
    );
    assert!(lease("a").await.is_some() && lease("b").await.is_none());
    world.done("task.heartbeat", beat(json!([]))).await;
    assert!(lease("b").await.is_some());
    world.task("c").await;
    world.done("task.heartbeat", json!({ "pid": "another" })).await;
    assert!(lease("c").await.is_none(), "it is not another's");
}

#[tokio::test]
async fn a_schedule_is_made_found_and_deleted() {
    let world = ResonateWorld::new();
    let data = |id: &str, colour: &str| {
        json!({
            "id": id,
            "cron": "* * * * *",
            "promiseId": "{{.id}}-{{.timestamp}}",
            "promiseTimeout": 1000,
            "promiseTags": { "resonate:target": "poll://any@g", "colour": colour },
        })
    };
    let made = world.done("schedule.create", data("a", "red")).await;
    assert_eq!(
        (&made["schedule"]["promiseParam"], made["schedule"].get("lastRunAt")),
        (&json!({}), None)
    );
    assert_eq!(world.done("schedule.create", data("a", "blue")).await, made, "the id is the key");
    assert_eq!(world.done("schedule.get", json!({ "id": "a" })).await, made);
    for id in ["b", "c", "d"] {
        world.done("schedule.create", data(id, "blue")).await;
    }
    let search = json!({ "tags": { "colour": "blue" }, "limit": 2 });
    let first = world.done("schedule.search", search).await;
    assert_eq!((&first["schedules"][0]["id"], &first["cursor"]), (&json!("b"), &json!("c")));
    let search = json!({ "tags": { "colour": "blue" }, "limit": 2, "cursor": "c" });
    let second = world.done("schedule.search", search).await;
    assert_eq!((&second["schedules"][0]["id"], second.get("cursor")), (&json!("d"), None));
    assert_eq!(world.done("schedule.delete", json!({ "id": "a" })).await, json!({}));
    for (kind, change, status) in [
        ("schedule.get", json!({ "id": "a" }), 404),
        ("schedule.delete", json!({ "id": "a" }), 404),
        ("schedule.create", json!({ "id": "" }), 400),
        ("schedule.create", json!({ "cron": "sometimes" }), 400),
        ("schedule.create", json!({ "promiseId": "" }), 400),
        ("schedule.create", json!({ "promiseTimeout": -1 }), 400),
        ("schedule.create", json!({ "promiseTags": {} }), 400),
        ("schedule.create", json!({ "promiseTags": { "resonate:target": "here" } }), 400),
    ] {
        let mut request = data("e", "red");
        for (name, value) in change.as_object().expect("an object") {
            request[name] = value.clone();
        }
        assert_eq!(world.ask(kind, request).await.0, status, "{kind} {change}");
    }
}

#[tokio::test]
async fn searches_go_page_by_page() {
    let world = ResonateWorld::new();
    for n in 0..5 {
        let data = json!({ "id": format!("p{n}"), "timeoutAt": NEVER, "tags": { "parity": (n % 2).to_string() } });
        world.done("promise.create", data).await;
    }
    world.task("t").await;
    world.done("promise.settle", json!({ "id": "p1", "state": "resolved" })).await;
    let ids = |found: &Json, list: &str| -> Vec<String> {
        let items = found[list].as_array().expect("a list").iter();
        items.filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
    };
    let first = world.done("promise.search", json!({ "limit": 4 })).await;
    assert_eq!(
        (ids(&first, "promises"), &first["cursor"]),
        (["p0", "p1", "p2", "p3"].map(str::to_owned).to_vec(), &json!("p3"))
    );
    let second = world.done("promise.search", json!({ "limit": 4, "cursor": "p3" })).await;
    assert_eq!(
        (ids(&second, "promises"), second.get("cursor")),
        (["p4", "t"].map(str::to_owned).to_vec(), None)
    );
    let odd = world
        .done("promise.search", json!({ "tags": { "parity": "1" }, "state": "pending" }))
        .await;
    assert_eq!(ids(&odd, "promises"), ["p3"]);
    let exact = world.done("promise.search", json!({ "limit": 6 })).await;
    assert_eq!(exact.get("cursor"), None, "the last page says that it is");
    let tasks = world.done("task.search", json!({ "state": "acquired" })).await;
    assert_eq!(ids(&tasks, "tasks"), ["t"]);
    assert_eq!(
        world.done("task.search", json!({ "state": "halted" })).await,
        json!({ "tasks": [] })
    );
}
