//! Script commands about executions under limits.

use segno_core::{
    command::Command,
    id::{CommandIndex, PromiseId},
    limit::{AdmissionRule, LimitName, LimitPositionState},
    object::ModuleFacts,
    promise::{NewPromise, OutboxKey},
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Text, Value},
};

use super::{dice::Dice, fixture::new, script::claim_request};

/// Limited functions with their rules.
const LIMITS: [(&str, &str); 7] = [
    (
        "pack",
        r#"{"key":"k","per_key":{"concurrency":1},"total":{"concurrency":2},"priority":{"path":"p"}}"#,
    ),
    ("mail", r#"{"per_key":{"rate":{"count":1,"period_ms":700,"burst":2}}}"#),
    (
        "both",
        r#"{"key":"k","per_key":{"concurrency":2,"rate":{"count":1,"period_ms":400,"burst":1}},"total":{"rate":{"count":2,"period_ms":300,"burst":2}},"priority":{"path":"p","order":"weighted"},"weights":{"a":3}}"#,
    ),
    ("only", r#"{"key":"k","singleton":"skip"}"#),
    ("last", r#"{"key":"k","singleton":"replace"}"#),
    ("calm", r#"{"key":"k","debounce":{"period_ms":300,"longest_ms":900}}"#),
    ("Cart/pay", r#"{"per_key":{"concurrency":1}}"#),
];

/// The facts of the module: its shared functions and its limits.
pub(crate) fn facts() -> ModuleFacts {
    let rule = |json| serde_json::from_str(json).expect("a rule");
    let limits = LIMITS.map(|(function, json)| (Text::from(function), rule(json)));
    ModuleFacts {
        shared: ["Cart/total", "Signup/confirm"].map(Text::from).into(),
        limits: limits.into(),
        runs: ["Signup/run".into()].into(),
    }
}

/// The next command about limits, given the state of the model.
pub(super) fn command(dice: &mut Dice, seen: &Snapshot, now: Timestamp, id: PromiseId) -> Command {
    let function = dice.of(&LIMITS).0;
    let name = LimitName::of("shop", function);
    match dice.roll(12) {
        0 => Command::LimitSet { name, rule: dice.of(&[Some(at_most(2)), None]) },
        1 if dice.once_in(3) => {
            let wrong = dice
                .of(&[("shop", Some(at_most(1))), ("shop/pack", Some(AdmissionRule::default()))]);
            Command::LimitSet { name: wrong.0.into(), rule: wrong.1 }
        }
        1..=3 => {
            let due =
                seen.limits.iter().find(|(_, limit)| limit.due_at.is_some_and(|at| at <= now));
            Command::LimitDue { name: due.map_or(name, |(name, _)| name.clone()) }
        }
        4..=6 => {
            let leaves = |key: &&OutboxKey| matches!(key, OutboxKey::LeaveLimit(..));
            match seen.outbox.keys().find(leaves) {
                Some(key) => Command::OutboxDue { key: key.clone() },
                None => Command::LimitDue { name },
            }
        }
        7 => {
            // Usually an execution under a limit ends.
            let there = |state| seen.places.iter().find(|(_, place)| place.state == state);
            let ends = there(dice.of(&[LimitPositionState::Admitted, LimitPositionState::Waiting]));
            Command::Kill { invocation: ends.map_or(id, |(id, _)| id.clone()) }
        }
        8 => {
            Command::TaskCreate { new: limited(dice, now, function), request: claim_request(dice) }
        }
        _ => Command::PromiseCreate(limited(dice, now, function)),
    }
}

fn at_most(concurrency: u32) -> AdmissionRule {
    serde_json::from_str(&format!(r#"{{"per_key":{{"concurrency":{concurrency}}}}}"#))
        .expect("a rule")
}

fn limited(dice: &mut Dice, now: Timestamp, function: &str) -> NewPromise {
    let id = format!("l{}", dice.roll(40));
    let target = format!("wasm://shop/{}", function.replace("Cart/", "Cart@ada/"));
    let key = dice.of(&["a", "б \\u0000'", "c"]);
    let param = match dice.once_in(15) {
        true => "no JSON".to_owned(),
        false => format!(r#"{{"func":"f","args":[{{"k":"{key}","p":{}}}]}}"#, dice.roll(4)),
    };
    let later = (now + Millis(dice.roll(900) as i64)).to_string();
    let mut of = vec![(tags::TARGET, target.as_str())];
    if dice.once_in(5) {
        of.push((tags::DELAY, later.as_str()));
    }
    let timeout_at = match dice.once_in(6) {
        true => now + Millis(dice.roll(2_000) as i64),
        false => Timestamp::NEVER,
    };
    NewPromise { param: Value::of(param.into_bytes()), ..new(&id, &of, timeout_at) }
}

/// A call of a limited function by another, as a child.
pub(super) fn child(dice: &mut Dice, of: &PromiseId) -> NewPromise {
    let mut new = limited(dice, Timestamp::default(), "pack");
    new.timeout_at = Timestamp::NEVER;
    new.id = of.command(CommandIndex(dice.roll(3) as u32));
    new.tags.insert(tags::TARGET.to_owned(), "pack".to_owned());
    new.param.headers.insert(tags::MODULE_HEADER.to_owned(), "shop".to_owned());
    new
}
