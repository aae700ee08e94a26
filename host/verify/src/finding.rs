//! The findings about a run: alone, or compared with a run that should have the same result.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::promise::Verdict;
use serde::Serialize;

use crate::{
    run::{RunConclusion, RunResult},
    schedule::{EventChoice, InjectedFault, RelativeId, RunSchedule, ScheduleEntry},
    script::VerifyScript,
};

/// The kinds of findings, in the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    /// A replay issues another command than the recorded one.
    Divergence,
    /// The workflow panicked, or was stopped by the engine.
    Trap,
    /// The workflow neither ends nor waits for anything that can happen.
    Deadlock,
    /// The workflow continues without end.
    Endless,
    /// The outcome differs after a fault, though the same events happened.
    FaultDependence,
    /// The outcome depends on the order in which the same events happened.
    OrderDependence,
    /// The outcome depends on the order of a timer and a completion.
    TimerDependence,
    /// An effect that should happen once was requested twice, under different keys or without one.
    RepeatedEffect,
    /// An effect was not undone, though the workflow failed or does not know of it.
    LostCompensation,
}

impl FindingKind {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Divergence => "divergence",
            Self::Trap => "trap",
            Self::Deadlock => "deadlock",
            Self::Endless => "endless",
            Self::FaultDependence => "fault-dependence",
            Self::OrderDependence => "order-dependence",
            Self::TimerDependence => "timer-dependence",
            Self::RepeatedEffect => "repeated-effect",
            Self::LostCompensation => "lost-compensation",
        }
    }

    /// A sentence of advice on fixing it.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Divergence => {
                "a workflow may depend on its input and on results only: keep what a `run` computes in its result, and no state outside of the function"
            }
            Self::Trap => "handle this case in the workflow, or make it an error that it returns",
            Self::Deadlock => {
                "see what it waits for: a signal or promise may be missing in the script, or the workflow needs a time limit"
            }
            Self::Endless => "give the loop an end, or the script a signal that ends it",
            Self::FaultDependence => {
                "the workflow keeps something that a replay does not bring back, such as state in a static or in a `run`"
            }
            Self::OrderDependence => {
                "await all of them together (`join_all` keeps the order of the calls), or sort; if the difference is intended, set `orders_may_differ = true` in the script"
            }
            Self::TimerDependence => {
                "check the outcome of the call again before acting on the timer; if the difference is intended, remove `timers_must_not_differ` from the script"
            }
            Self::RepeatedEffect => {
                "send the idempotency key of the activity (`ctx.idempotency_key()`) with the request, or let the workflow make it with `ctx.http`"
            }
            Self::LostCompensation => {
                "undo it on every way out, or make it a step of a saga, which undoes it also if its effect is unknown"
            }
        }
    }
}

/// The identity of a finding, without its circumstances: equal identities have one cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FindingIdentity {
    pub kind: FindingKind,
    /// The part of the workflow that is affected.
    pub subject: String,
}

/// A finding about a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub identity: FindingIdentity,
    /// A description in sentences.
    pub text: String,
    /// The guest's stack, with names where known.
    pub backtrace: Option<String>,
}

impl Finding {
    fn new(kind: FindingKind, subject: impl Into<String>, text: impl Into<String>) -> Self {
        let identity = FindingIdentity { kind, subject: subject.into() };
        Self { identity, text: text.into(), backtrace: None }
    }
}

/// The findings about a run by itself.
pub(crate) fn alone(run: &RunResult, script: &VerifyScript) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &run.end {
        RunConclusion::Halted(halts) => findings.extend(halts.iter().map(|halt| {
            let kind = match halt.kind.as_str() {
                "divergence" => FindingKind::Divergence,
                "waits-for-nothing" => FindingKind::Deadlock,
                _ => FindingKind::Trap,
            };
            // The lines after the first differ from place to place.
            let subject = halt.message.lines().next().unwrap_or_default();
            let subject = match kind {
                FindingKind::Divergence => String::new(),
                _ => subject.to_owned(),
            };
            let of = match halt.place.as_str() {
                "" => String::new(),
                place => format!("in {place}: "),
            };
            let text = format!("{of}{}", halt.message);
            Finding { backtrace: halt.backtrace.clone(), ..Finding::new(kind, subject, text) }
        })),
        RunConclusion::Stuck(awaited) => {
            let text = match awaited.as_slice() {
                [] => "nothing can happen any more, and nothing is waited for".to_owned(),
                awaited => format!("nothing can happen any more: {}", awaited.join("; ")),
            };
            findings.push(Finding::new(FindingKind::Deadlock, awaited.join("; "), text));
        }
        RunConclusion::Endless => {
            let text = format!("after {} events it has not ended", run.steps.len());
            findings.push(Finding::new(FindingKind::Endless, "", text));
        }
        RunConclusion::Settled { verdict, .. } => {
            findings.extend(lost_compensations(run, *verdict, script))
        }
        RunConclusion::GivenUp => {}
    }
    findings
}

fn lost_compensations(run: &RunResult, verdict: Verdict, script: &VerifyScript) -> Vec<Finding> {
    let succeeded = verdict == Verdict::Resolved;
    let mut findings = Vec::new();
    for (done, undone) in &script.compensates {
        let (made, undoings) = (effects(run, done), effects(run, undone).len());
        let open: Vec<&RelativeId> = made
            .into_values()
            // An effect whose completion the workflow has seen is part of its outcome.
            .filter(|places| !succeeded || !places.iter().any(|place| run.told.contains(*place)))
            .filter_map(|places| places.first().copied())
            .collect();
        if open.len() <= undoings {
            continue;
        }
        let at: Vec<String> = open.iter().map(|place| place.to_string()).collect();
        let why = match succeeded {
            true => "the workflow succeeded without receiving its result".to_owned(),
            false => format!("the workflow ended so: {}", run.end.line()),
        };
        let text = format!(
            "`{done}` was done {} (at {}), and `{undone}` {}; {why}",
            times(open.len()),
            at.join(", "),
            times(undoings)
        );
        findings.push(Finding::new(FindingKind::LostCompensation, done.clone(), text));
    }
    findings
}

/// The successful effects of this name with their places, by idempotency key: effects under one key
/// happened once.
fn effects<'a>(run: &'a RunResult, name: &str) -> BTreeMap<String, BTreeSet<&'a RelativeId>> {
    let mut effects: BTreeMap<String, BTreeSet<&RelativeId>> = BTreeMap::new();
    for effect in run.effects.iter().filter(|effect| effect.succeeded && effect.is(name)) {
        let key = effect.key.clone().unwrap_or_else(|| effect.place.to_string());
        effects.entry(key).or_default().insert(&effect.place);
    }
    effects
}

fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// The findings about a run compared with one of the same events without faults.
pub(crate) fn beside(run: &RunResult, reference: &RunResult) -> Vec<Finding> {
    let mut findings = repeated_effects(run, reference);
    if let (RunConclusion::Settled { .. }, RunConclusion::Settled { .. }) =
        (&run.end, &reference.end)
        && run.end != reference.end
        && !is_reordered(run, reference)
        && !was_told_otherwise(&run.journal, &reference.journal)
    {
        let faults: Vec<String> = run.schedule.faults().map(ToString::to_string).collect();
        let text = format!(
            "without the fault ({}) it ends so: {}; with it so: {}",
            faults.join(" "),
            reference.end.line(),
            run.end.line()
        );
        findings.push(Finding::new(FindingKind::FaultDependence, "", text));
    }
    findings
}

/// Returns true if the same events happened in another order, which may explain a difference.
fn is_reordered(run: &RunResult, reference: &RunResult) -> bool {
    let (events, others) = (run.schedule.events(), reference.schedule.events());
    let sorted = |schedule: &RunSchedule| {
        let mut entries = schedule.0.clone();
        entries.sort();
        entries
    };
    events != others && sorted(&events) == sorted(&others)
}

/// Returns true if the world answered differently, so that the outcomes may differ: in each journal
/// that differs, the first different record was delivered to the workflow, not issued by it. A
/// fault moves retries, so the same choice of a schedule (time passes) brings a deadline in one run
/// and an attempt in the other.
fn was_told_otherwise(run: &[String], reference: &[String]) -> bool {
    let (ours, theirs) = (journals(run), journals(reference));
    let differing: Vec<(&str, &str)> = ours
        .iter()
        .filter_map(|(place, records)| {
            let others = theirs.get(place)?.iter();
            records.iter().zip(others).find(|(one, other)| one != other)
        })
        .map(|(one, other)| (*one, *other))
        .collect();
    !differing.is_empty() && differing.iter().all(|(one, other)| is_told(one) && is_told(other))
}

/// The records of each journal as written by [`crate::journal::lines`], without number and time.
fn journals(lines: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut journals: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut place = "";
    for line in lines {
        let numbered = line
            .trim_start()
            .split_once(' ')
            .filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
        match numbered {
            Some((_, rest)) => {
                let (_, record) = rest.trim_start().split_once("  ").unwrap_or(("", rest));
                journals.entry(place).or_default().push(record);
            }
            None => place = line,
        }
    }
    journals
}

/// Returns true if a record was delivered to the workflow: a completion, a signal, or a
/// cancellation.
fn is_told(record: &str) -> bool {
    let completed = record.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    completed.is_some_and(|(_, rest)| rest.starts_with('←'))
        || record.starts_with("signal ")
        || record == "cancelled"
}

/// Effects that were requested under more keys than without the fault, or more often without a key.
fn repeated_effects(run: &RunResult, reference: &RunResult) -> Vec<Finding> {
    type RequestedEffects<'a> =
        BTreeMap<(&'a str, String), (BTreeSet<&'a str>, usize, Option<&'a str>)>;
    fn asked(run: &RunResult) -> RequestedEffects<'_> {
        let mut asked = RequestedEffects::new();
        for effect in &run.effects {
            let entry = asked.entry((&effect.what, effect.input.to_string())).or_default();
            match &effect.key {
                Some(key) => {
                    entry.0.insert(key);
                }
                None => entry.1 += 1,
            }
            entry.2 = effect.within.as_deref();
        }
        asked
    }
    let (with, without) = (asked(run), asked(reference));
    let mut findings = Vec::new();
    for ((what, input), (keys, bare, within)) in &with {
        let before = without.get(&(*what, input.clone()));
        let (keys_before, bare_before) =
            before.map_or((0, 0), |(keys, bare, _)| (keys.len(), *bare));
        let by = within.map(|within| format!(" (by `{within}`)")).unwrap_or_default();
        if *bare > bare_before && *bare > 1 {
            let text = format!(
                "`{what}` with {input}{by} was asked {} without an idempotency key, {} without the fault",
                times(*bare),
                times(bare_before)
            );
            findings.push(Finding::new(FindingKind::RepeatedEffect, *what, text));
        } else if keys.len() > keys_before && keys.len() > 1 {
            let keys: Vec<&str> = keys.iter().copied().collect();
            let text = format!(
                "`{what}` with {input}{by} was asked under {} idempotency keys ({}), {} without the fault",
                keys.len(),
                keys.join(", "),
                keys_before
            );
            findings.push(Finding::new(FindingKind::RepeatedEffect, *what, text));
        }
    }
    findings
}

/// A finding if the outcome of a run differs from that of the first, whose events came in another
/// order.
pub(crate) fn by_order(run: &RunResult, first: &RunResult) -> Option<Finding> {
    let differs = matches!(run.end, RunConclusion::Settled { .. })
        && matches!(first.end, RunConclusion::Settled { .. })
        && run.end != first.end;
    differs.then(|| {
        let text = format!(
            "in this order it ends so: {}; in the first order so: {}",
            run.end.line(),
            first.end.line()
        );
        Finding::new(FindingKind::OrderDependence, "", text)
    })
}

/// A finding if the outcome differs because a timer came first.
pub(crate) fn by_timer(run: &RunResult, first: &RunResult) -> Option<Finding> {
    let mut finding = by_order(run, first)?;
    finding.identity.kind = FindingKind::TimerDependence;
    finding.text = format!(
        "if the timer is first, it ends so: {}; else so: {}",
        run.end.line(),
        first.end.line()
    );
    Some(finding)
}

/// Returns true if the run contains an event that changes the possible events (a cancellation), so
/// that its outcome may differ.
pub(crate) fn changes_what_happens(run: &RunResult) -> bool {
    run.schedule.0.contains(&ScheduleEntry::Event(EventChoice::Cancel))
}

/// The word for a fault, in counts.
pub(crate) fn word(fault: &InjectedFault) -> &'static str {
    match fault {
        InjectedFault::Cold => "replays at every wait",
        InjectedFault::Crash => "crashes at waits",
        InjectedFault::Supplant => "claims lost, the old host continues",
        InjectedFault::Again(_) => "deliveries twice",
        InjectedFault::Die { .. } => "deaths at commits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(records: &[&str]) -> Vec<String> {
        let numbered = records.iter().enumerate();
        numbered.map(|(seq, record)| format!("{seq:>4}       +{seq}ms  {record}")).collect()
    }

    #[test]
    fn a_difference_that_begins_with_an_answer_is_none_of_the_fault() {
        let told = lines(&["started order 1", "#0 http pay", "#0 ← 408 timed out", "finished 408"]);
        let paid = lines(&["started order 1", "#0 http pay", "#0 ← \"paid\"", "finished \"ok\""]);
        assert!(was_told_otherwise(&told, &paid));
        let asked = lines(&["started order 1", "#0 http refund", "#0 ← \"paid\"", "finished 1"]);
        assert!(!was_told_otherwise(&asked, &paid), "it asked for something else");
        let ended = lines(&["started order 1", "#0 http pay", "#0 ← \"paid\"", "finished \"no\""]);
        assert!(!was_told_otherwise(&ended, &paid), "it answered something else");
        assert!(!was_told_otherwise(&paid, &paid));
    }

    #[test]
    fn a_child_that_decides_otherwise_is_a_finding_although_its_caller_was_told() {
        let with = |child: &str, answer: &str| {
            let root = ["started order 1", "#0 call part 1", answer, "finished 1"];
            [lines(&root), vec!["0:".to_owned()], lines(&["started part 1", child])].concat()
        };
        let one = with("finished 1", "#0 ← 1");
        let other = with("finished 2", "#0 ← 2");
        assert!(!was_told_otherwise(&one, &other));
    }
}
