//! One scenario from beginning to end.

use std::collections::BTreeMap;

use segno_core::{config::Config, snapshot::Snapshot, time::Millis};
use serde_json::Value as Json;

use super::{outside::Heard, scenario::Scenario, simulation::Simulation, verdict};

/// The result of a run.
pub struct Report {
    /// All findings; empty: the run passed.
    pub findings: Vec<String>,
    /// The event log.
    pub log: String,
    /// Number of faults of each kind, and of operations worth counting.
    pub counts: BTreeMap<&'static str, u64>,
    /// Commits of hosts.
    pub commits: u64,
    /// How long it took, in virtual milliseconds.
    pub lasted: i64,
    /// The longest that a lost claim stayed lost while a host was well.
    pub longest_overdue: i64,
    /// For each claim that ran out, how long its holder had not been heard of when the task was
    /// offered again.
    pub unheard: Vec<i64>,
    /// Runs of steps, and how many of them were repetitions.
    pub runs: (u64, u64),
}

/// The final state of a run.
pub struct End {
    /// All rows.
    pub rows: Snapshot,
    /// External effects of steps.
    pub effects: BTreeMap<String, u32>,
    /// What clients know.
    pub heard: Heard,
    /// What clients of the Resonate protocol were told, by promise.
    pub told: BTreeMap<String, Json>,
    /// The final state after everything was removed and started again.
    pub anew: Option<Box<End>>,
}

/// Runs a scenario, judges every step, and compares its end with that of a run without faults.
pub fn run(scenario: &Scenario) -> Report {
    let (mut report, end) = world(scenario, true);
    if !report.findings.is_empty() {
        return report;
    }
    let (reference, expected) = world(&scenario.without_faults(), false);
    report
        .findings
        .extend(reference.findings.iter().map(|wrong| format!("without faults: {wrong}")));
    if report.findings.is_empty() {
        report.findings.extend(verdict::refines(scenario, &end, &expected));
    }
    if let Some(anew) = &end.anew {
        let wrong = verdict::refines(&scenario.needed(), anew, &expected);
        report.findings.extend(wrong.iter().map(|wrong| format!("begun anew: {wrong}")));
    }
    report
}

/// The settings of every simulated engine: short, so that much happens in little time.
pub(super) fn config(scenario: &Scenario) -> Config {
    Config {
        retry_interval: Millis(1_000),
        ttl: (Millis(scenario.lease), Millis(scenario.lease), Millis(scenario.lease)),
        stall_limit: Some(Millis(scenario.lease + 1_000)),
        backoff: (Millis(50), 2, Millis(1_000)),
        lost_limit: 1_000,
        version_rule: scenario.rule,
        ..Config::default()
    }
}

fn world(scenario: &Scenario, judged: bool) -> (Report, End) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built");
    runtime.block_on(async { Simulation::set_up(scenario, judged).await.run(scenario).await })
}
