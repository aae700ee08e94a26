//! Injects one fault into an otherwise valid request.

use serde_json::{Value as Json, json};

use super::script::Dice;

const ADDRESSES: [&str; 14] = [
    "",
    "default",
    "wasm://shop",
    "wasm://shop/",
    "wasm://sha256:07/f",
    "gcps://p/t",
    "poll://g",
    "poll://all@g",
    "poll://uni@g",
    "poll://any@",
    "poll://any@g/",
    "http:///x",
    "http://a b",
    "segno:",
];

/// Damages the data of an operation: specifically for its kind, or any field in any way.
pub(super) fn spoil(dice: &mut Dice, kind: &str, data: &mut Json, at: i64) {
    if dice.once_in(3) {
        return any(dice, data);
    }
    let long = "x".repeat(2_049);
    let bad_id = dice.of(&["", "a\0b", &long]).to_owned();
    let bad_pid = dice.of(&["", &long]).to_owned();
    let bad_address = dice.of(&ADDRESSES);
    let (id, awaiter) = (data["id"].clone(), data["awaiter"].clone());
    match (kind, dice.roll(9)) {
        ("promise.create", _) => creation(dice, data, "", at),
        ("promise.settle", _) => settling(dice, data, ""),
        ("promise.register_callback", 0..=3) => set(data, "/awaited", awaiter),
        ("promise.register_callback", 4..=6) => set(data, "/awaiter", json!(bad_id)),
        ("promise.register_callback" | "promise.register_listener", 7..) => {
            set(data, "/awaited", json!(bad_id));
        }
        ("promise.register_listener", _) => set(data, "/address", json!(bad_address)),
        ("promise.search" | "task.search", 0..=3) => set(data, "/state", json!("odd")),
        ("promise.search" | "task.search" | "schedule.search", _) => {
            set(data, "/limit", json!(dice.of(&[0, 1_001])));
        }
        ("task.create" | "task.acquire" | "task.heartbeat", 0..=1) => {
            set(data, "/pid", json!(bad_pid));
        }
        ("task.create" | "task.acquire", 2) => {
            set(data, "/ttl", json!(dice.of(&[0, -1, i64::MIN])))
        }
        ("task.create", 3..=4) => set(data, "/action/kind", json!("promise.settle")),
        ("task.create", 5..=6) => {
            set(data, "/action/data/tags", json!({ "colour": "red" }));
        }
        ("task.create", 7) => {
            set(data, "/action/data/timeoutAt", json!(at + 9_000));
            set(data, "/action/data/tags/resonate:delay", json!("7"));
        }
        ("task.create", _) => creation(dice, data, "/action/data", at),
        ("task.suspend", 0..=1) => set(data, "/actions", json!([])),
        ("task.suspend", 2..=3) => set(data, "/actions/0/kind", json!("promise.get")),
        ("task.suspend", 4) => set(data, "/actions/0/data/awaiter", json!("somebody")),
        ("task.suspend", 5) => set(data, "/actions/0/data/awaited", id),
        ("task.suspend", 6) => set(data, "/actions/0/data/awaited", json!(bad_id)),
        ("task.suspend", 7) => {
            let first = data["actions"][0].clone();
            data["actions"].as_array_mut().expect("actions are a list").push(first);
        }
        ("task.fulfill", 0..=1) => set(data, "/action/kind", json!("promise.create")),
        ("task.fulfill", 2..=3) => set(data, "/action/data/id", json!("somebody")),
        ("task.fulfill", 4..=6) => settling(dice, data, "/action/data"),
        ("task.fence", 0..=1) => set(data, "/action/kind", json!("promise.get")),
        ("task.fence", 2..=3) => set(data, "/action/data/id", id),
        ("task.fence", 4..=7) => match data["action"]["kind"] == "promise.create" {
            true => creation(dice, data, "/action/data", at),
            false => settling(dice, data, "/action/data"),
        },
        ("schedule.create", 0) => set(data, "/promiseId", json!(bad_id)),
        ("schedule.create", 1..=2) => {
            set(data, "/cron", json!(dice.of(&["", "soon", "* * * *", "61 * * * *"])))
        }
        ("schedule.create", 3) => set(data, "/promiseTimeout", json!(-1)),
        ("schedule.create", 4) => set(data, "/promiseTags", json!({ "colour": "red" })),
        ("schedule.create", 5) => set(data, "/promiseTags/resonate:target", json!(bad_address)),
        ("schedule.create", 6) => set(data, "/promiseTags/resonate:timer", json!("true")),
        ("schedule.create", 7) => set(data, "/promiseParam/headers/resonate:form", json!("t")),
        ("debug.tick", _) => set(data, "/time", json!(at + 1)),
        ("promise.get" | "task.get" | "task.halt" | "task.continue", _)
        | ("task.acquire" | "task.release" | "task.fulfill" | "task.fence" | "task.suspend", _)
        | ("schedule.create" | "schedule.get" | "schedule.delete", _) => {
            set(data, "/id", json!(bad_id));
        }
        _ => any(dice, data),
    }
}

/// Injects a fault into a promise to be created.
fn creation(dice: &mut Dice, data: &mut Json, at_path: &str, at: i64) {
    let mut put = |path: &str, value: Json| set(data, &format!("{at_path}{path}"), value);
    let long = "x".repeat(2_049);
    match dice.roll(8) {
        0 => put("/id", json!(dice.of(&["", "a\0b", &long]))),
        1 => put("/timeoutAt", json!(dice.of(&[-1, i64::MIN]))),
        2 | 3 => put("/tags/resonate:target", json!(dice.of(&ADDRESSES))),
        4 => put("/tags/resonate:delay", json!(dice.of(&["soon", "-1", "", "1.5"]))),
        5 => {
            put("/timeoutAt", json!(at + 5_000));
            put("/tags/resonate:delay", json!((at + dice.of(&[5_000, 9_000])).to_string()));
        }
        6 => {
            put("/timeoutAt", json!(at + 5_000));
            put("/tags", json!({ "resonate:delay": (at + 1_000).to_string() }));
        }
        _ => put("/param/headers/resonate:form", json!("t")),
    }
}

/// Injects a fault into a settlement.
fn settling(dice: &mut Dice, data: &mut Json, at_path: &str) {
    let mut put = |path: &str, value: Json| set(data, &format!("{at_path}{path}"), value);
    match dice.roll(4) {
        0 if at_path.is_empty() => put("/id", json!(dice.of(&["", "a\0b"]))),
        0 | 1 => put("/state", json!(dice.of(&["rejected_timedout", "pending", "done", ""]))),
        2 => put("/state", json!(dice.of(&["rejected_timedout", "Resolved"]))),
        _ => put("/value/headers/resonate:form", json!("h")),
    }
}

/// Replaces any field with a value of another type, or removes it.
fn any(dice: &mut Dice, data: &mut Json) {
    let mut paths = Vec::new();
    collect(data, String::new(), &mut paths);
    if paths.is_empty() {
        return;
    }
    let path = dice.of(&paths);
    let (parent, name) = path.rsplit_once('/').expect("a path begins with a slash");
    let parent = data.pointer_mut(parent).expect("a path leads somewhere");
    if let (Json::Object(fields), true) = (&mut *parent, dice.once_in(3)) {
        fields.remove(&name.replace("~1", "/").replace("~0", "~"));
        return;
    }
    let value = dice.of(&[
        json!(null),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(1e3),
        json!(u64::MAX),
        json!(true),
        json!("x"),
        json!(""),
        json!("0"),
        json!("a\0"),
        json!([]),
        json!({}),
        json!([7]),
        json!(["x", 7]),
    ]);
    set(data, &path, value);
}

fn collect(data: &Json, path: String, paths: &mut Vec<String>) {
    let inner: Vec<(String, &Json)> = match data {
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Json::Array(items) => {
            items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
        }
        _ => return,
    };
    for (name, value) in inner {
        let path = format!("{path}/{name}");
        collect(value, path.clone(), paths);
        paths.push(path);
    }
}

/// Sets a value at a path, and creates missing parents.
fn set(data: &mut Json, path: &str, value: Json) {
    let mut place = data;
    for name in path.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let number = name.parse::<usize>().ok().filter(|_| place.is_array());
        place = match number {
            Some(number) => &mut place[number],
            None => {
                if !place.is_object() {
                    *place = json!({});
                }
                &mut place[name.as_str()]
            }
        };
    }
    *place = value;
}
