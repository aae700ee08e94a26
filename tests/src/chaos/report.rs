//! The findings of a run, and the table of its faults and flows.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    memory::Memory,
    plan::{Fault, Plan},
};

/// Maximum number of findings kept. Further ones are only counted.
const KEPT: usize = 50;

/// Findings so far: their number, and the first ones.
#[derive(Debug, Default)]
pub struct Findings(Mutex<(usize, Vec<String>)>);

impl Findings {
    /// Adds a finding, and prints it immediately.
    pub fn add(&self, finding: String) {
        eprintln!("FINDING: {finding}");
        let mut all = self.lock();
        all.0 += 1;
        if all.1.len() < KEPT {
            all.1.push(finding);
        }
    }

    /// Number of findings.
    pub fn count(&self) -> usize {
        self.lock().0
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Vec<String>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Report {
    pub plan: Plan,
    /// Number of injected faults of each kind.
    pub faults: BTreeMap<Fault, u32>,
    /// Number of flows of each kind that ended as expected.
    pub flows: BTreeMap<&'static str, u64>,
    /// Numbers of answered requests and of failed attempts.
    pub requests: (u64, u64),
    /// Number of requests that reached the ledger.
    pub effects: u64,
    /// Number of acknowledged events.
    pub events: u64,
    /// Number of journals whose replay was identical.
    pub replays: usize,
    pub memory: Memory,
    pub findings: Vec<String>,
}

impl Report {
    /// Adds the findings to the report.
    pub fn with(mut self, findings: &Findings) -> Self {
        let all = findings.lock();
        self.findings.clone_from(&all.1);
        if all.0 > KEPT {
            self.findings.push(format!("and {} more", all.0 - KEPT));
        }
        drop(all);
        self
    }

    /// True if there is no finding.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        let store = match (plan.hosts, plan.databases) {
            (1, _) => "SQLite".to_owned(),
            (_, 1) => "PostgreSQL".to_owned(),
            (_, databases) => format!("{databases} databases of PostgreSQL"),
        };
        writeln!(out, "seed {}, {} s, {} host(s), {store}", plan.seed, plan.seconds, plan.hosts)?;
        row(
            out,
            "faults",
            self.faults.iter().map(|(fault, count)| (fault.name(), u64::from(*count))),
        )?;
        row(out, "flows", self.flows.iter().map(|(kind, count)| (*kind, *count)))?;
        let (answered, unanswered) = self.requests;
        let requests = [("answered", answered), ("not answered", unanswered)];
        row(out, "requests", requests.into_iter())?;
        row(
            out,
            "outside",
            [("effects asked for", self.effects), ("events", self.events)].into_iter(),
        )?;
        row(out, "replays", [("alike", self.replays as u64)].into_iter())?;
        let tenths: Vec<_> = self.memory.tenths.iter().map(ToString::to_string).collect();
        write!(out, "  {:<10} {} MiB, after each tenth of the run", "memory", tenths.join(", "))?;
        match self.memory.idle {
            Some(idle) => writeln!(out, "; {idle} MiB when idle")?,
            None => writeln!(out)?,
        }
        writeln!(out, "  {:<10} {}", "findings", self.findings.len())?;
        self.findings.iter().try_for_each(|finding| writeln!(out, "    {finding}"))
    }
}

fn row<'a>(
    out: &mut fmt::Formatter<'_>,
    name: &str,
    counts: impl Iterator<Item = (&'a str, u64)>,
) -> fmt::Result {
    let counts: Vec<_> = counts.map(|(what, count)| format!("{what} {count}")).collect();
    writeln!(out, "  {name:<10} {}", counts.join(", "))
}
