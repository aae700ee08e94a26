//! The event log of a run, line by line, with its findings. Two runs of one seed have the same log,
//! byte for byte.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::time::Timestamp;
use segno_env::Clock;
use segno_sim::{BEGINNING, SimClock};

use super::fault::Fault;

/// Maximum number of lines kept. Further ones are only counted.
const LINES: usize = 40_000;

/// Log of a run: lines, findings and counts.
pub struct EventLog {
    clock: Arc<SimClock>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    lines: Vec<String>,
    left_out: u64,
    findings: Vec<String>,
    counts: BTreeMap<&'static str, u64>,
}

impl EventLog {
    /// Creates an empty log.
    pub fn new(clock: Arc<SimClock>) -> Self {
        Self { clock, entries: Mutex::default() }
    }

    /// Milliseconds since the world began.
    pub fn at(&self) -> i64 {
        self.clock.now().since(BEGINNING).0
    }

    /// Time of the world.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Adds a line.
    pub fn note(&self, line: impl std::fmt::Display) {
        let at = self.at();
        let mut entries = self.entries();
        if entries.lines.len() < LINES {
            entries.lines.push(format!("{at:>7} {line}"));
        } else {
            entries.left_out += 1;
        }
    }

    /// Adds a finding, so that the run fails.
    pub fn finding(&self, what: impl std::fmt::Display) {
        let what = what.to_string();
        self.note(format_args!("WRONG {what}"));
        let mut entries = self.entries();
        if entries.findings.len() < 20 {
            entries.findings.push(what);
        }
    }

    /// Counts a fault that has occurred.
    pub fn count(&self, kind: &'static str) {
        *self.entries().counts.entry(kind).or_default() += 1;
    }

    /// Counts and logs a planned fault that occurs now.
    pub fn fault(&self, fault: &Fault) {
        self.note(format_args!("FAULT {fault}"));
        self.count(fault.kind());
    }

    /// True if there is a finding.
    pub fn has_findings(&self) -> bool {
        !self.entries().findings.is_empty()
    }

    /// All findings, the whole log, and the number of faults of each kind. Empties the log.
    pub fn close(&self) -> (Vec<String>, String, BTreeMap<&'static str, u64>) {
        let entries = std::mem::take(&mut *self.entries());
        let mut text = entries.lines.join("\n");
        text.push_str(&format!("\n{} further lines\n", entries.left_out));
        (entries.findings, text, entries.counts)
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
