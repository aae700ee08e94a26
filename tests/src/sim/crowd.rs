//! Limits: more executions than permits. Every commit is checked for the number of admitted
//! executions and their order. At the end no execution may be left in the queue.

use segno_core::{
    limit::{AdmissionRule, LimitName, LimitPositionState},
    object::ModuleFacts,
    promise::{OutboxMessageKind, Promise},
    snapshot::Snapshot,
    value::Text,
};

use super::dice::Dice;
use crate::world::script::{Result, ScriptContext, options};

/// Function with a limit on concurrency, per key and in total.
pub(super) const PACKED: &str = "packed";
/// Function with a limit on its rate.
pub(super) const PACED: &str = "paced";
/// A workflow that calls and sends some of the others.
pub(super) const CROWD: &str = "crowd";
/// Functions that scripts start.
pub(super) const FUNCTIONS: [&str; 3] = [PACKED, PACED, CROWD];

const LIMITS: [(&str, &str); 2] = [
    (
        PACKED,
        r#"{"key":"k","per_key":{"concurrency":1},"total":{"concurrency":2},"priority":{"path":"p"}}"#,
    ),
    (PACED, r#"{"per_key":{"rate":{"count":4,"period_ms":1000,"burst":2}}}"#),
];

/// Facts of the module: its declared limits.
pub(super) fn facts() -> ModuleFacts {
    let rule = |json| serde_json::from_str(json).expect("a rule");
    let limits = LIMITS.map(|(function, json)| (Text::from(function), rule(json)));
    ModuleFacts { limits: limits.into(), ..ModuleFacts::default() }
}

/// A limit that an operator sets, or removes.
pub(super) fn changed(dice: &mut Dice) -> (LimitName, Option<AdmissionRule>) {
    let json = dice.pick(&[
        None,
        Some(r#"{"key":"k","per_key":{"concurrency":2},"total":{"concurrency":3}}"#),
        Some(r#"{"key":"k","per_key":{"concurrency":1,"rate":{"count":5,"period_ms":1000,"burst":1}}}"#),
    ]);
    let name = LimitName::of("m", dice.pick(&[PACKED, PACED]));
    (name, json.map(|json| serde_json::from_str(json).expect("a rule")))
}

/// Input of a function for this number.
pub(super) fn input(function: &str, number: u64) -> String {
    match function {
        PACKED | PACED => format!(r#"{{"k":"{}","p":{}}}"#, number % 2, number % 3),
        _ => number.to_string(),
    }
}

/// Calls an activity, and sleeps.
pub(super) async fn work(ctx: ScriptContext) -> Result {
    ctx.done(ctx.call("work", "1")).await?;
    ctx.done(ctx.sleep(200)).await?;
    Ok("\"worked\"".into())
}

/// Calls three limited functions, and sends one.
pub(super) async fn crowd(ctx: ScriptContext) -> Result {
    let calls: Vec<u32> = (0..3).map(|n| ctx.call(PACKED, &input(PACKED, n))).collect();
    let sent = ctx.send(PACED, r#"{"k":"s"}"#, options());
    ctx.done(sent).await?;
    for call in calls {
        ctx.done(call).await?;
    }
    Ok("\"all worked\"".into())
}

/// Violations of the limits at the end.
pub(super) fn end(rows: &Snapshot) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, place) in &rows.places {
        let pending = rows.promises.get(id).is_some_and(Promise::is_pending);
        if pending && place.state != LimitPositionState::Admitted {
            wrong.push(format!("limit: `{id}` was never admitted: {place:?}"));
        }
    }
    let owed = rows.outbox.keys().filter(|key| key.kind() == OutboxMessageKind::LeaveLimit);
    wrong.extend(owed.map(|key| format!("limit: {key:?} is owed still")));
    wrong
}
