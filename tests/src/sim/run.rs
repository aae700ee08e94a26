//! One scenario from start to end.

use std::collections::BTreeMap;

use segno_core::{config::Config, snapshot::Snapshot, time::Millis};
use serde_json::Value as Json;

use super::{outside::Heard, scenario::Scenario, simulation::Simulation, verdict};

/// Result of a run.
pub struct Report {
    /// Findings. Empty if the run passed.
    pub findings: Vec<String>,
    pub log: String,
    /// Number of faults of each kind, and of operations worth counting.
    pub counts: BTreeMap<&'static str, u64>,
    /// Number of commits of hosts.
    pub commits: u64,
    /// Duration of the run, in virtual milliseconds.
    pub lasted: i64,
    /// Longest time that a lost claim was not released although a host was well.
    pub longest_overdue: i64,
    /// For each expired claim, the time from the last heartbeat of its holder until the task was
    /// offered again.
    pub unheard: Vec<i64>,
    /// Number of runs of steps, and of repetitions among them.
    pub runs: (u64, u64),
}

/// Final state of a run.
pub(super) struct End {
    pub rows: Snapshot,
    /// Number of runs of each step, by idempotency key.
    pub effects: BTreeMap<String, u32>,
    /// Messages that clients received.
    pub heard: Heard,
    /// Settlements that clients of the Resonate protocol received, by promise.
    pub told: BTreeMap<String, Json>,
    /// Final state after everything was removed and started again.
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

/// Settings of every simulated engine. The intervals are short, so that much happens in little
/// time.
pub(super) fn config(scenario: &Scenario) -> Config {
    Config {
        retry_interval: Millis(1_000),
        ttl: (Millis(scenario.lease), Millis(scenario.lease), Millis(scenario.lease)),
        stall_limit: Some(Millis(scenario.lease + 1_000)),
        backoff: (Millis(50), 2, Millis(1_000)),
        lost_limit: 1_000,
        run_gather: if scenario.seed.is_multiple_of(4) {
            Millis::ZERO
        } else {
            Config::default().run_gather
        },
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
