//! Invariants of services at the end, checked against the rows and the observations of handlers.
//! Each run was executed, and all later readers saw its one result. Each call began one invocation.
//! A stock has the sum of its reservations, made one after the other. Without interference all
//! outcomes equal those of the run without faults.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, Outcome, RecordBody, StepResult},
    promise::{Promise, Verdict},
    snapshot::Snapshot,
    value::Payload,
};
use segno_engine::values;
use segno_services::BY;
use serde_json::Value as Json;

use super::{
    super::scenario::{Op, Scenario},
    witness::Witness,
};

/// Prefix of the address of every service.
const SCHEME: &str = "restate://";

/// True if an invocation is of a service.
pub(crate) fn is_service(rows: &Snapshot, id: &PromiseId) -> bool {
    let target = rows.promises.get(id).and_then(Promise::target);
    target.is_some_and(|target| target.starts_with(SCHEME))
}

/// Violations at an end.
pub(super) fn end(rows: &Snapshot, witness: &Witness, done: impl Fn(&str) -> u64) -> Vec<String> {
    let mut wrong = Vec::new();
    let callees = callees(rows);
    for (by, callees) in callees.iter().filter(|(_, callees)| callees.len() > 1) {
        wrong.push(format!("service: the call `{by}` began {callees:?}"));
    }
    for id in rows.journals.keys().filter(|id| is_service(rows, id)) {
        for (index, kind, name, outcome) in commands(rows, id) {
            match (kind, outcome) {
                (CommandKind::Run, Some(outcome)) => {
                    wrong.extend(run(&name, outcome, witness, done(&name)));
                }
                (CommandKind::Call, Some(outcome)) => {
                    let by = id.command(index);
                    let callee = callees.get(by.as_str()).and_then(|callees| callees.first());
                    wrong.extend(call(&by, outcome, callee.copied()));
                }
                _ => {}
            }
        }
    }
    wrong.extend(stocks(rows));
    wrong
}

/// Checks that the outcome of a run is that of one of its executions, and equals the observed one.
fn run(name: &str, outcome: &Outcome, witness: &Witness, done: u64) -> Option<String> {
    let recorded = json(outcome)?;
    let time = recorded["run"].as_u64().unwrap_or_default();
    if recorded["key"] != name || time == 0 || time > done {
        return Some(format!("service: `{name}` has {recorded}, and was done {done} times"));
    }
    let seen = witness.known(name).filter(|seen| *seen != recorded)?;
    Some(format!("service: `{name}` was seen to be {seen}, recorded is {recorded}"))
}

/// Checks that the result a caller received is the outcome of its callee.
fn call(by: &PromiseId, outcome: &Outcome, callee: Option<&Promise>) -> Option<String> {
    let told = json(outcome)?;
    let ended = callee.and_then(result);
    (ended.as_ref() != Some(&told))
        .then(|| format!("service: `{by}` was told {told}, not {ended:?}"))
}

/// Invocations, by the command that began them.
fn callees(rows: &Snapshot) -> BTreeMap<&str, Vec<&Promise>> {
    let mut callees: BTreeMap<&str, Vec<&Promise>> = BTreeMap::new();
    for promise in rows.promises.values() {
        if let Some(by) = promise.spec.param.headers.get(BY) {
            callees.entry(by).or_default().push(promise);
        }
    }
    callees
}

/// Commands of an invocation, with their outcomes.
fn commands<'a>(
    rows: &'a Snapshot,
    id: &PromiseId,
) -> Vec<(CommandIndex, CommandKind, String, Option<&'a Outcome>)> {
    let Some(journal) = rows.journals.get(id) else { return Vec::new() };
    let outcomes: BTreeMap<CommandIndex, &Outcome> = journal
        .records
        .iter()
        .filter_map(|record| match &record.body {
            RecordBody::Notified { index, outcome } => Some((*index, outcome)),
            _ => None,
        })
        .collect();
    let of = |body: &RecordBody| match body {
        RecordBody::Command { index, kind, name, .. } => {
            Some((*index, *kind, name.to_string(), outcomes.get(index).copied()))
        }
        _ => None,
    };
    journal.records.iter().filter_map(|record| of(&record.body)).collect()
}

fn json(outcome: &Outcome) -> Option<Json> {
    match outcome {
        Outcome::Inline(StepResult::Value(Payload::Json(text))) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Result of an invocation that succeeded.
fn result(promise: &Promise) -> Option<Json> {
    let settled = promise.settlement().filter(|settled| settled.verdict == Verdict::Resolved)?;
    let value = settled.value.as_ref()?;
    serde_json::from_slice(&value.data).ok()
}

/// Checks that the reservations of each stock follow each other from nothing to the final sum, and
/// that no invocation is left inside.
fn stocks(rows: &Snapshot) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut stocks: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for promise in rows.promises.values() {
        let target = promise.target().unwrap_or_default();
        let stock = target.strip_prefix("restate://Stock/").and_then(|rest| rest.split_once('/'));
        let (Some((stock, _)), Some(result)) = (stock, result(promise)) else { continue };
        let asked = match values::input(&promise.spec.param) {
            segno_guest::Payload::Json(text) => serde_json::from_str(&text).unwrap_or(Json::Null),
            segno_guest::Payload::Bytes(_) => Json::Null,
        };
        let (before, after) = (result["before"].as_i64(), result["after"].as_i64());
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        if Some(after - before) != asked["amount"].as_i64() {
            wrong.push(format!("service: `{}` was asked {asked}, and did {result}", promise.id()));
        }
        stocks.entry(stock.to_owned()).or_default().push((before, after));
    }
    for (stock, mut reserved) in stocks {
        reserved.sort_unstable();
        let sum = reserved.last().map_or(0, |(_, after)| *after);
        let gaps = reserved.windows(2).any(|pair| pair[0].1 != pair[1].0) || reserved[0].0 != 0;
        let state = |name: &str| state(rows, &stock, name);
        if gaps || state("reserved") != sum || !state("inside").is_null() {
            let (says, inside) = (state("reserved"), state("inside"));
            wrong.push(format!(
                "service: of `{stock}` were reserved {reserved:?}; it says {says}, and {inside} is in"
            ));
        }
    }
    wrong
}

fn state(rows: &Snapshot, stock: &str, name: &str) -> Json {
    let object = format!("restate:Stock/Stock@{stock}");
    let value = rows.state.iter().find(|((of, key), _)| of.as_str() == object && &**key == name);
    match value {
        Some((_, Payload::Json(text))) => serde_json::from_str(text).unwrap_or_default(),
        Some((_, Payload::Bytes(_))) | None => Json::Null,
    }
}

/// Differences from the run without faults that neither faults nor clients explain.
pub(crate) fn refines(scenario: &Scenario, ours: &Snapshot, theirs: &Snapshot) -> Vec<String> {
    let mut wrong = Vec::new();
    let interfered: BTreeSet<&str> =
        scenario.ops.iter().filter(|(_, op)| op.interferes()).map(|(_, op)| op.id()).collect();
    for (_, op) in &scenario.ops {
        let Op::Services { id, .. } = op else { continue };
        if interfered.contains(id.as_str()) {
            continue;
        }
        let id = PromiseId::from(id.as_str());
        let of = |rows: &Snapshot| rows.promises.get(&id).map(|it| (verdict(it), result(it)));
        let (ours, theirs) = (of(ours), of(theirs));
        if ours != theirs {
            wrong.push(format!("refinement: `{id}` came to {ours:?}, not to {theirs:?}"));
        }
    }
    let ids: BTreeSet<&PromiseId> = ours.journals.keys().chain(theirs.journals.keys()).collect();
    for id in ids {
        let is_service = is_service(ours, id) || is_service(theirs, id);
        if !is_service || interfered.contains(caller(theirs, id).as_str()) {
            continue;
        }
        let of = |rows| -> Vec<_> {
            commands(rows, id).into_iter().map(|(_, kind, name, _)| (kind, name)).collect()
        };
        let (ours, theirs) = (of(ours), of(theirs));
        if ours != theirs {
            wrong.push(format!("refinement: `{id}` asked for {ours:?}, not for {theirs:?}"));
        }
    }
    wrong
}

/// The client's invocation at the root of this one's callers.
fn caller(rows: &Snapshot, id: &PromiseId) -> PromiseId {
    let by = rows.promises.get(id).and_then(|promise| promise.spec.param.headers.get(BY));
    match by.and_then(|by| by.rsplit_once('/')) {
        Some((caller, _)) => self::caller(rows, &PromiseId::from(caller)),
        None => id.clone(),
    }
}

fn verdict(promise: &Promise) -> Option<Verdict> {
    promise.settlement().map(|settled| settled.verdict)
}
