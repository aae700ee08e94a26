//! Random operations that reach deep states: mostly operations that are valid in the current state,
//! and sometimes any operation.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use segno_core::promise::{Task, TaskStatus};
use serde_json::{Map, Value as Json, json};

use super::{
    faults,
    model::{HostModel, shown},
};

/// An operation with its time.
#[derive(Clone, Debug)]
pub(super) struct ScriptOperation {
    pub(super) at: i64,
    pub(super) kind: &'static str,
    pub(super) data: Json,
}

/// A seeded random number generator.
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        (self.0.next_u64() % sides as u64) as usize
    }

    pub(super) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())].clone()
    }

    pub(super) fn once_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

/// The kinds of operations with their weights.
pub(super) const KINDS: [(&str, usize); 27] = [
    ("promise.create", 12),
    ("promise.get", 2),
    ("promise.settle", 4),
    ("promise.register_callback", 3),
    ("promise.register_listener", 3),
    ("promise.search", 2),
    ("task.get", 2),
    ("task.create", 8),
    ("task.acquire", 8),
    ("task.release", 2),
    ("task.suspend", 5),
    ("task.fulfill", 3),
    ("task.fence", 8),
    ("task.heartbeat", 3),
    ("task.halt", 2),
    ("task.continue", 2),
    ("task.search", 2),
    ("schedule.create", 3),
    ("schedule.get", 1),
    ("schedule.delete", 1),
    ("schedule.search", 1),
    ("debug.tick", 4),
    ("debug.start", 1),
    ("debug.stop", 1),
    ("debug.snap", 1),
    ("debug.reset", 1),
    ("promise.forget", 1),
];

/// Ids of both dialects, ids of a module, an id that is hard to encode, and ids that never exist.
const IDS: [&str; 17] = [
    "a",
    "b",
    "A",
    "a.0",
    "a.1",
    "a.0.1",
    "a:0",
    "a:1",
    "a:0.1",
    "a:d1f",
    "b:0",
    "b.0",
    "a/0",
    "a/s/0",
    "ключ '\"\\",
    "ключ '\"\\\u{1}",
    " \u{a0}",
];
const SCHEDULES: [&str; 5] = ["s", "nightly", "s.x", "s:y", "nightly\u{1}"];
const EXACT: &str =
    "wasm://sha256:0707070707070707070707070707070707070707070707070707070707070707/order";
const GONE: &str =
    "wasm://sha256:0909090909090909090909090909090909090909090909090909090909090909/order";
const TARGETS: [&str; 14] = [
    "poll://any@g",
    "poll://any@g",
    "poll://any@g",
    "poll://any@g/w",
    "poll://uni@g/w",
    "poll://any@groß/a/b",
    "http://127.0.0.1:9/x",
    "https://h/y",
    "wasm://shop/order",
    EXACT,
    "wasm://shop/order",
    "wasm://gone/x",
    "wasm:///own",
    GONE,
];
const NEVER: i64 = 253_402_300_799_999;

/// Generates the next operation. `favourites` are chosen more often.
pub(super) fn next(
    dice: &mut Dice,
    model: &HostModel,
    favourites: &[&'static str],
    at: i64,
) -> ScriptOperation {
    let mut place = dice.roll(KINDS.iter().map(|(_, weight)| weight).sum());
    let drawn = KINDS.iter().find(|(_, weight)| {
        let here = place < *weight;
        place = place.saturating_sub(*weight);
        here
    });
    let kind = match dice.once_in(3) {
        true => dice.of(favourites),
        false => drawn.expect("below the sum of the weights").0,
    };
    let mut data = sensible(dice, model, kind, at);
    if dice.once_in(5) {
        faults::spoil(dice, kind, &mut data, at);
    }
    ScriptOperation { at, kind, data }
}

fn sensible(dice: &mut Dice, model: &HostModel, kind: &str, at: i64) -> Json {
    match kind {
        "promise.create" => promise(dice, model, at, None),
        "promise.get" => json!({ "id": some_id(dice, model) }),
        "promise.settle" => {
            let id = some_id(dice, model);
            settlement(dice, id)
        }
        "promise.register_callback" => {
            let awaiter = some_task(dice, model, None).0;
            let awaited = another_than(dice, model, &awaiter);
            json!({ "awaited": awaited, "awaiter": awaiter })
        }
        "promise.register_listener" => {
            json!({ "awaited": some_id(dice, model), "address": dice.of(&TARGETS[..8]) })
        }
        "promise.search" => search(
            dice,
            model,
            &["pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"],
        ),
        "task.search" => {
            search(dice, model, &["pending", "acquired", "suspended", "halted", "fulfilled"])
        }
        "schedule.search" => search(dice, model, &[]),
        "task.get" | "task.halt" => json!({ "id": some_task(dice, model, None).0 }),
        "task.continue" => json!({ "id": some_task(dice, model, Some(TaskStatus::Halted)).0 }),
        "task.create" => {
            let action =
                json!({ "kind": "promise.create", "data": promise(dice, model, at, Some(true)) });
            json!({ "pid": pid(dice), "ttl": ttl(dice), "action": action })
        }
        "task.acquire" => {
            let (id, version) = some_task(dice, model, Some(TaskStatus::Pending));
            json!({ "id": id, "version": version, "pid": pid(dice), "ttl": ttl(dice) })
        }
        "task.release" => {
            let (id, version) = some_task(dice, model, Some(TaskStatus::Acquired));
            json!({ "id": id, "version": version })
        }
        "task.suspend" => suspension(dice, model),
        "task.fulfill" => fulfillment(dice, model),
        "task.fence" => fence(dice, model, at),
        "task.heartbeat" => heartbeat(dice, model),
        "schedule.create" => schedule(dice),
        "schedule.get" | "schedule.delete" => json!({ "id": dice.of(&SCHEDULES) }),
        "debug.tick" => json!({ "time": at }),
        _ => json!({}),
    }
}

/// Usually the id of an existing promise.
fn some_id(dice: &mut Dice, model: &HostModel) -> String {
    let ids: Vec<&str> = model.state.promises().map(|promise| promise.id().as_str()).collect();
    match ids.is_empty() || dice.once_in(4) {
        true => dice.of(&IDS).to_owned(),
        false => dice.of(&ids).to_owned(),
    }
}

fn another_than(dice: &mut Dice, model: &HostModel, id: &str) -> String {
    loop {
        let another = some_id(dice, model);
        if another != id {
            return another;
        }
    }
}

/// Usually a task in the state `wanted`, with its version.
fn some_task(dice: &mut Dice, model: &HostModel, wanted: Option<TaskStatus>) -> (String, u64) {
    let fits = |task: &&Task| wanted.is_none_or(|wanted| task.status() == wanted);
    let fitting: Vec<&Task> = model.state.tasks().filter(fits).collect();
    let all: Vec<&Task> = model.state.tasks().collect();
    let task = match dice.roll(6) {
        0 if !all.is_empty() => dice.of(&all),
        _ if fitting.is_empty() => return (some_id(dice, model), 0),
        1 if dice.once_in(2) => return (some_id(dice, model), 1),
        _ => dice.of(&fitting),
    };
    let version = match dice.roll(10) {
        0 => task.version.0 + 1,
        1 => task.version.0.saturating_sub(1),
        _ => task.version.0,
    };
    (task.id.to_string(), version)
}

fn pid(dice: &mut Dice) -> &'static str {
    dice.of(&["w", "v", "ü 1"])
}

fn ttl(dice: &mut Dice) -> i64 {
    dice.of(&[1, 500, 5_000, 60_000, 60_000, 86_400_000, i64::MAX])
}

fn value(dice: &mut Dice) -> Json {
    dice.of(&[
        json!({}),
        json!({ "data": "" }),
        json!({ "data": "NA==" }),
        json!({ "headers": {} }),
        json!({ "headers": { "a": "b", "": "" }, "data": "plain é" }),
        json!({ "headers": null, "data": null }),
        json!({ "data": "bnVsbA", "more": [1] }),
    ])
}

fn with_value(dice: &mut Dice, data: &mut Json, field: &str) {
    if dice.once_in(2) {
        data[field] = value(dice);
    }
}

fn promise(dice: &mut Dice, model: &HostModel, at: i64, target: Option<bool>) -> Json {
    let id = match dice.once_in(4) {
        true => some_id(dice, model),
        false => dice.of(&IDS).to_owned(),
    };
    let timeout_at = match dice.roll(9) {
        0 => at - dice.of(&[0, 1, 5_000]),
        1 => 0,
        2 | 3 => at + dice.of(&[1, 500, 3_000]),
        4 => dice.of(&[NEVER - 1, NEVER, i64::MAX]),
        _ => at + dice.of(&[20_000, 3_600_000]),
    };
    let mut data = json!({ "id": id, "timeoutAt": timeout_at });
    with_value(dice, &mut data, "param");
    let targeted = target.unwrap_or_else(|| !dice.once_in(3));
    let tags = tags(dice, &id, targeted);
    if !tags.is_empty() || dice.once_in(2) {
        data["tags"] = Json::Object(tags);
    }
    if let (true, None, true) = (dice.once_in(8), target, targeted) {
        let delay = (timeout_at - 1).min(at + 2_000).max(0);
        if delay < timeout_at {
            data["tags"]["resonate:delay"] = json!(delay.to_string());
        }
    }
    data
}

fn tags(dice: &mut Dice, id: &str, targeted: bool) -> Map<String, Json> {
    let mut tags = Map::new();
    let mut tag = |name: &str, value: &str| tags.insert(name.to_owned(), json!(value));
    if targeted {
        tag("resonate:target", dice.of(&TARGETS));
    }
    if dice.once_in(5) {
        tag("resonate:timer", dice.of(&["true", "true", "yes"]));
    }
    if dice.once_in(3) {
        tag("resonate:external", "true");
    }
    let root = id.split([':', '.', '/']).next().unwrap_or(id);
    if dice.once_in(3) {
        tag("resonate:origin", dice.of(&[root, root, id, "b"]));
    }
    if dice.once_in(2) {
        tag("resonate:branch", dice.of(&[root, root, root, id, "a:0"]));
    }
    if dice.once_in(4) {
        tag("resonate:parent", dice.of(&[root, root, "b"]));
    }
    if dice.once_in(6) {
        tag("resonate:prefix", root);
        tag("resonate:scope", "global");
    }
    if dice.once_in(3) {
        tag("colour", dice.of(&["red", "blue"]));
    }
    if dice.once_in(12) {
        tag("target", "not an address");
        tag("resonate:unheard-of", "");
    }
    tags
}

fn settlement(dice: &mut Dice, id: String) -> Json {
    let state = dice.of(&["resolved", "resolved", "rejected", "rejected_canceled"]);
    let mut data = json!({ "id": id, "state": state });
    with_value(dice, &mut data, "value");
    data
}

fn search(dice: &mut Dice, model: &HostModel, states: &[&str]) -> Json {
    let mut data = json!({});
    if dice.once_in(2) && !states.is_empty() {
        data["state"] = json!(dice.of(states));
    }
    if dice.once_in(3) {
        data["tags"] = json!({ "colour": dice.of(&["red", "blue"]) });
    }
    if dice.once_in(8) {
        data["tags"] = json!({ "resonate:target": "poll://any@g", "colour": "red" });
    }
    if !dice.once_in(3) {
        data["limit"] = json!(dice.of(&[1, 2, 3, 1_000]));
    }
    if dice.once_in(3) {
        data["cursor"] = json!(some_id(dice, model));
    }
    data
}

fn suspension(dice: &mut Dice, model: &HostModel) -> Json {
    let (id, version) = some_task(dice, model, Some(TaskStatus::Acquired));
    let mut awaited: Vec<String> =
        (0..1 + dice.roll(3)).map(|_| another_than(dice, model, &id)).collect();
    awaited.sort();
    awaited.dedup();
    let action = |awaited: String| json!({ "kind": "promise.register_callback", "data": { "awaited": awaited, "awaiter": id } });
    json!({ "id": id, "version": version, "actions": awaited.into_iter().map(action).collect::<Vec<_>>() })
}

fn fulfillment(dice: &mut Dice, model: &HostModel) -> Json {
    let claims = model.state.tasks().filter_map(|task| Some((task, task.fulfilled_by?)));
    let done: Vec<(&Task, _)> = claims.collect();
    // A client that lost the answer sends the same request again.
    if !done.is_empty() && dice.once_in(4) {
        let (task, version) = dice.of(&done);
        let promise = shown(model.state.promise(&task.id).expect("a task has a promise"));
        let settle =
            json!({ "id": task.id.as_str(), "state": promise["state"], "value": promise["value"] });
        let action = json!({ "kind": "promise.settle", "data": settle });
        return json!({ "id": task.id.as_str(), "version": version.0, "action": action });
    }
    let (id, version) = some_task(dice, model, Some(TaskStatus::Acquired));
    let action = json!({ "kind": "promise.settle", "data": settlement(dice, id.clone()) });
    json!({ "id": id, "version": version, "action": action })
}

fn fence(dice: &mut Dice, model: &HostModel, at: i64) -> Json {
    let (id, version) = some_task(dice, model, Some(TaskStatus::Acquired));
    let mut action = match dice.once_in(2) {
        true => json!({ "kind": "promise.create", "data": promise(dice, model, at, None) }),
        false => {
            let settled = some_id(dice, model);
            json!({ "kind": "promise.settle", "data": settlement(dice, settled) })
        }
    };
    // A timer that is due when it is created.
    if action["kind"] == "promise.create" && dice.once_in(6) {
        action["data"]["timeoutAt"] = json!(at - 1);
        action["data"]["tags"] = json!({ "resonate:timer": "true" });
    }
    if action["data"]["id"] == id.as_str() {
        action["data"]["id"] = json!(format!("{id}!"));
    }
    json!({ "id": id, "version": version, "action": action })
}

fn heartbeat(dice: &mut Dice, model: &HostModel) -> Json {
    let mut data = json!({ "pid": pid(dice) });
    if !dice.once_in(4) {
        let task = |_| {
            let (id, version) = some_task(dice, model, Some(TaskStatus::Acquired));
            json!({ "id": id, "version": version })
        };
        data["tasks"] = (0..3).map(task).collect();
        let named = dice.roll(4);
        data["tasks"].as_array_mut().expect("just made").truncate(named);
    }
    data
}

fn schedule(dice: &mut Dice) -> Json {
    let mut tags = tags(dice, "s", true);
    if tags.get("resonate:timer").is_some_and(|timer| timer == "true") {
        tags.remove("resonate:timer");
    }
    let mut data = json!({
        "id": dice.of(&SCHEDULES),
        "cron": dice.of(&["* * * * *", "*/7 * * * * *", "0 0 30 2 *", "0 0 12 24 12 * 2099"]),
        "promiseId": dice.of(&["{{.id}}-{{.timestamp}}", "{{.id}}!", "a"]),
        "promiseTimeout": dice.of(&[0, 4_000, i64::MAX]),
        "promiseTags": tags,
    });
    with_value(dice, &mut data, "promiseParam");
    data
}
