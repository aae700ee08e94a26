//! The scope and the findings of an exploration.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{finding::Finding, run::RunResult, schedule::RunSchedule};

/// The scope and the findings of an exploration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyReport {
    pub function: String,
    /// Seed of the samples.
    pub seed: u64,
    pub runs: usize,
    /// Number of commits of the first run: hosts were killed at each of them.
    pub commits: u64,
    pub orders: OrdersReport,
    /// Number of tries for each kind of fault.
    pub faults: BTreeMap<&'static str, usize>,
    /// Outcomes of runs, with the number of runs for each.
    pub outcomes: BTreeMap<String, usize>,
    pub failures: Vec<FindingReport>,
    /// Events of a single run, in schedule notation and in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(String, String)>,
    /// Journals of a single run, one line per record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<String>,
}

/// The orders of events that were run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OrdersReport {
    /// Number of orders that were run exhaustively. Orders that no workflow can tell apart count
    /// once.
    pub explored: usize,
    /// Number of further orders that were sampled at random.
    pub sampled: usize,
    /// True if the explored orders are all that exist.
    pub complete: bool,
}

/// A finding with a schedule that reproduces it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingReport {
    pub kind: &'static str,
    pub text: String,
    /// Advice on fixing it.
    pub advice: &'static str,
    /// The shortest schedule that reproduces it; later events are decided by default.
    pub schedule: String,
    /// The events of that run, in schedule notation and in words.
    pub steps: Vec<(String, String)>,
    /// The end of that run.
    pub end: String,
    /// The journals of that run, one line per record.
    pub journal: Vec<String>,
    /// The guest's stack, with names where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// The external effects of that run, with their idempotency keys.
    pub effects: Vec<String>,
}

impl FindingReport {
    pub(crate) fn new(finding: Finding, run: &RunResult) -> Self {
        let steps = run.steps.iter().map(|step| (step.choice.to_string(), step.label.clone()));
        let effects = run.effects.iter().map(|effect| {
            let key = effect.key.as_deref().unwrap_or("none");
            let failed = if effect.succeeded { "" } else { ", failed" };
            format!("{} {} (key {key}{failed})", effect.what, effect.input)
        });
        Self {
            kind: finding.identity.kind.name(),
            text: finding.text,
            advice: finding.identity.kind.advice(),
            schedule: run.schedule.to_string(),
            steps: steps.collect(),
            end: run.end.line(),
            journal: run.journal.clone(),
            backtrace: finding.backtrace,
            effects: effects.collect(),
        }
    }

    /// The schedule, parsed for repetition.
    ///
    /// # Panics
    /// Never panics: a printed schedule always parses.
    pub fn schedule(&self) -> RunSchedule {
        self.schedule.parse().expect("a schedule is read as it is printed")
    }
}
