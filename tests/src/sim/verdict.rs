//! The rules for the end of a run, by itself and compared with a run without faults.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::PromiseId,
    invocation::{CommandKind, Outcome, RecordBody, StepResult},
    promise::{Promise, Verdict},
    snapshot::Snapshot,
    value::Payload,
};
use segno_resonate::wire;
use serde_json::Value as Json;

use super::{
    crowd,
    run::End,
    scenario::{Op, Scenario, root},
    services, tally, trip_rules,
};

/// Findings about an end by itself.
pub(super) fn end(end: &End) -> Vec<String> {
    let mut wrong = Vec::new();
    wrong.extend(steps(end));
    wrong.extend(told(&end.rows));
    wrong.extend(heard(end));
    wrong.extend(told_abroad(end));
    wrong.extend(trip_rules::end(&end.rows));
    wrong.extend(tally::end(&end.rows));
    wrong.extend(crowd::end(&end.rows));
    wrong
}

/// Checks that every step with an outcome ran, and that the outcome is that of one of its runs.
fn steps(end: &End) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, promise) in &end.rows.promises {
        let Some(receipt) = receipt(promise) else { continue };
        let ran = end.effects.get(id.as_str()).copied().unwrap_or(0);
        let run = receipt["run"].as_u64().unwrap_or(0);
        if receipt["key"] != id.as_str() || run == 0 || run > u64::from(ran) {
            wrong.push(format!("effect ledger: `{id}` has {receipt}, and ran {ran} times"));
        }
    }
    for (key, ran) in &end.effects {
        let Some(promise) = end.rows.promises.get(&PromiseId::from(key.as_str())) else {
            wrong.push(format!("effect ledger: `{key}` ran {ran} times and has no promise"));
            continue;
        };
        if promise.is_pending() {
            wrong.push(format!("effect ledger: `{key}` ran {ran} times and has no outcome"));
        }
    }
    wrong
}

fn receipt(promise: &Promise) -> Option<Json> {
    let settlement = promise.settlement().filter(|settled| settled.verdict == Verdict::Resolved)?;
    let value: Json = serde_json::from_slice(&settlement.value.as_ref()?.data).ok()?;
    value.get("run").is_some().then_some(value)
}

/// Checks that the outcomes in an invocation's journal are those of the promises.
fn told(rows: &Snapshot) -> Vec<String> {
    let mut wrong = Vec::new();
    // Journals of services refer to promises of other invocations.
    let journals = rows.journals.iter().filter(|(id, _)| !services::is_service(rows, id));
    for (id, journal) in journals {
        let mut kinds = BTreeMap::new();
        for record in &journal.records {
            match &record.body {
                RecordBody::Command { index, kind, .. } => {
                    kinds.insert(*index, *kind);
                }
                RecordBody::Notified { index, outcome }
                    if kinds.get(index) == Some(&CommandKind::Call) =>
                {
                    let promise = rows.promises.get(&id.command(*index));
                    if promise.is_none() && is_refused(outcome) && was_killed(rows, id) {
                        continue;
                    }
                    if let Some(difference) = differs(outcome, promise) {
                        wrong
                            .push(format!("history: `{id}` was told of {}: {difference}", index.0));
                    }
                }
                _ => {}
            }
        }
    }
    wrong
}

/// True if a call was refused, so that no promise was created for it.
fn is_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Inline(StepResult::Failure { code: 409, .. }))
}

/// True if the root of an execution's tree was killed, so that nothing is created there any more.
fn was_killed(rows: &Snapshot, id: &PromiseId) -> bool {
    let root = rows.promises.get(id).map(Promise::scope);
    root.and_then(|root| rows.tree_counts.get(&root)).is_some_and(|count| count.killed)
}

fn differs(outcome: &Outcome, promise: Option<&Promise>) -> Option<String> {
    let Some(settlement) = promise.and_then(Promise::settlement) else {
        return Some("its promise is not settled".into());
    };
    let value = settlement.value.as_ref().map(|value| value.data.to_vec()).unwrap_or_default();
    match outcome {
        Outcome::Own => None,
        Outcome::Inline(StepResult::Value(Payload::Json(text))) => {
            let same = settlement.verdict == Verdict::Resolved && text.as_bytes() == value;
            (!same).then(|| format!("{text}, and the promise has {settlement:?}"))
        }
        Outcome::Inline(StepResult::Failure { code, .. }) => {
            let same = match settlement.verdict {
                Verdict::Resolved => false,
                Verdict::TimedOut => *code == 408,
                Verdict::Canceled => *code == 499,
                Verdict::Rejected => true,
            };
            (!same).then(|| format!("failure {code}, and the promise has {settlement:?}"))
        }
        Outcome::Inline(_) => None,
    }
}

/// Checks that every listener received the stored outcome, and that every published event arrived.
fn heard(end: &End) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in &end.heard.listening {
        let stored = end.rows.promises.get(id);
        let told = end.heard.told.get(id);
        if stored.is_some_and(|stored| !stored.is_pending()) && told != stored {
            wrong.push(format!(
                "unblock: a listener of `{id}` was told {told:?}, stored is {stored:?}"
            ));
        }
    }
    for (id, journal) in &end.rows.journals {
        for record in &journal.records {
            if let RecordBody::Command { index, kind: CommandKind::Publish, .. } = record.body
                && !end.heard.events.contains(&(id.clone(), index.0))
            {
                wrong.push(format!("event: what `{id}` published as {} never arrived", index.0));
            }
        }
    }
    wrong
}

/// Checks that clients of the Resonate protocol received the stored settlements.
fn told_abroad(end: &End) -> Vec<String> {
    let differing = end.told.iter().filter_map(|(id, told)| {
        let stored = end.rows.promises.get(&PromiseId::from(id.as_str())).map(wire::promise);
        (stored.as_ref() != Some(told))
            .then(|| format!("unblock: a client was told {told} of `{id}`, stored is {stored:?}"))
    });
    differing.collect()
}

/// Checks that undisturbed workflows of external workers have the outcome of the run without
/// faults.
fn refines_abroad(scenario: &Scenario, end: &End, expected: &End) -> Vec<String> {
    let mut wrong = Vec::new();
    for (_, op) in &scenario.ops {
        let Op::Resonate { id, errand } = op else { continue };
        if !errand.starts() || errand.has_deadline() {
            continue;
        }
        // A step may keep the result of any of its runs.
        let outcome = |rows| match outcome(rows, id) {
            (verdict, text) if text.contains("\"run\"") => (verdict, "a receipt".to_owned()),
            outcome => outcome,
        };
        let (seen, wanted) = (outcome(&end.rows), outcome(&expected.rows));
        if seen != wanted {
            wrong.push(format!("refinement: `{id}` came to {seen:?}, not to {wanted:?}"));
        }
    }
    wrong
}

/// Differences that faults do not explain.
pub(super) fn refines(scenario: &Scenario, end: &End, expected: &End) -> Vec<String> {
    let mut wrong = refines_abroad(scenario, end, expected);
    wrong.extend(services::refines(scenario, &end.rows, &expected.rows));
    for (_, op) in &scenario.ops {
        let Op::Start { id, function, .. } = op else { continue };
        let interfered = scenario.ops.iter().any(|(_, op)| op.interferes() && root(op.id()) == id);
        let (seen, wanted) = (outcome(&end.rows, id), outcome(&expected.rows, id));
        // Reads of one object depend on the order of the turns.
        let in_turns = tally::TARGETS.contains(function);
        let free = in_turns || matches!(*function, "race" | "patient");
        if interfered {
            wrong.extend(within(id, end, expected, free));
            continue;
        }
        match *function {
            "race" if ["\"work\"", "\"sleep\""].contains(&seen.1.as_str()) => {}
            "patient" if ["\"done\"", "\"late\""].contains(&seen.1.as_str()) => {}
            _ if seen == wanted => {}
            _ => wrong.push(format!("refinement: `{id}` came to {seen:?}, not to {wanted:?}")),
        }
        if !free {
            for (id, ours, theirs) in histories(id, &end.rows, &expected.rows) {
                let without = |lines: &[String], others: &[String]| -> Vec<String> {
                    lines.iter().filter(|line| !others.contains(line)).cloned().collect()
                };
                let (more, less) = (without(&ours, &theirs), without(&theirs, &ours));
                if ours != theirs {
                    wrong.push(format!(
                        "refinement: the history of `{id}` has {more:?} and lacks {less:?}"
                    ));
                }
            }
            let (ours, theirs) = (keys(id, end), keys(id, expected));
            if ours != theirs {
                wrong.push(format!("refinement: `{id}` did {ours:?}, not {theirs:?}"));
            }
        }
    }
    wrong
}

/// Checks that a disturbed invocation does nothing beyond the run without faults.
fn within(id: &str, end: &End, expected: &End, free: bool) -> Vec<String> {
    let (ours, theirs) = (keys(id, end), keys(id, expected));
    let beyond: Vec<_> = ours.difference(&theirs).collect();
    if free || beyond.is_empty() {
        return Vec::new();
    }
    vec![format!("refinement: `{id}` did {beyond:?} beyond what it does alone")]
}

fn outcome(rows: &Snapshot, id: &str) -> (Option<Verdict>, String) {
    let settlement = rows.promises.get(&PromiseId::from(id)).and_then(Promise::settlement);
    let value = settlement.and_then(|settled| settled.value.as_ref());
    let text = value.map(|value| String::from_utf8_lossy(&value.data).into_owned());
    (settlement.map(|settled| settled.verdict), text.unwrap_or_default())
}

/// Idempotency keys of a tree's steps.
fn keys(of: &str, end: &End) -> BTreeSet<String> {
    let under = |key: &&String| root(key) == of;
    end.effects.keys().filter(under).cloned().collect()
}

type Histories<'a> = Vec<(&'a PromiseId, Vec<String>, Vec<String>)>;

/// Histories of a tree in both runs, without the parts that faults may change: times, and the order
/// of notifications.
fn histories<'a>(of: &str, ours: &'a Snapshot, theirs: &'a Snapshot) -> Histories<'a> {
    let ids: BTreeSet<&PromiseId> = ours.journals.keys().chain(theirs.journals.keys()).collect();
    ids.into_iter()
        .filter(|id| root(id.as_str()) == of)
        .map(|id| (id, history(ours, id), history(theirs, id)))
        .collect()
}

fn history(rows: &Snapshot, id: &PromiseId) -> Vec<String> {
    let Some(journal) = rows.journals.get(id) else { return Vec::new() };
    let mut lines: Vec<String> = journal
        .records
        .iter()
        .map(|record| match &record.body {
            RecordBody::Started { function, input, .. } => format!("started {function} {input:?}"),
            RecordBody::Command { index, kind: CommandKind::Sleep, .. } => format!("{index} sleep"),
            RecordBody::Command { index, kind, name, request } => {
                format!("{index} {kind:?} {name} {request:?}")
            }
            // A step may keep the result of any of its runs.
            RecordBody::Notified {
                index,
                outcome: Outcome::Inline(StepResult::Value(Payload::Json(text))),
            } if text.contains("\"run\"") => {
                format!("{index} told a receipt")
            }
            RecordBody::Notified { index, outcome } => format!("{index} told {outcome:?}"),
            RecordBody::Signal { name, payload } => format!("signal {name} {payload:?}"),
            RecordBody::Cancelled => "cancelled".into(),
            RecordBody::Finished { outcome } => format!("finished {outcome:?}"),
        })
        .collect();
    lines.sort();
    lines
}
