//! What was explored, and what was found.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{finding::Finding, run::Run, schedule::Schedule};

/// What was explored, and what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The workflow.
    pub function: String,
    /// What samples were drawn from.
    pub seed: u64,
    /// Number of runs.
    pub runs: usize,
    /// Commits of the first run: at each of them a host died.
    pub commits: u64,
    /// The orders.
    pub orders: OrdersReport,
    /// How often each kind of fault was tried.
    pub faults: BTreeMap<&'static str, usize>,
    /// How runs ended, and how many.
    pub outcomes: BTreeMap<String, usize>,
    /// What was found.
    pub failures: Vec<Failure>,
    /// Of a single run: its events, as in the schedule and in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(String, String)>,
    /// Of a single run: the journals, a line a record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<String>,
}

/// The orders of what may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OrdersReport {
    /// Number of orders that were run one after the other. Of orders that no workflow can tell apart, one
    /// is counted.
    pub explored: usize,
    /// Number of further orders that were drawn by chance.
    pub sampled: usize,
    /// Whether those explored are all there are.
    pub complete: bool,
}

/// Something wrong, and how it comes about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// The kind.
    pub kind: &'static str,
    /// What is wrong.
    pub text: String,
    /// How to mend it.
    pub advice: &'static str,
    /// The shortest schedule that shows it; what follows after its end is decided by default.
    pub schedule: String,
    /// The events of that run, as in a schedule and in words.
    pub steps: Vec<(String, String)>,
    /// How that run ended.
    pub end: String,
    /// Its journals, a line a record.
    pub journal: Vec<String>,
    /// Where in the guest, as far as it has names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// What was done outside in that run, with its idempotency keys.
    pub effects: Vec<String>,
}

impl Failure {
    pub(crate) fn new(finding: Finding, run: &Run) -> Self {
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

    /// The schedule, to be repeated.
    ///
    /// # Panics
    /// Never: a schedule is read as it is printed.
    pub fn schedule(&self) -> Schedule {
        self.schedule.parse().expect("a schedule is read as it is printed")
    }
}
