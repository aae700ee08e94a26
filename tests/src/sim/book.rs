//! The event log of a run, line by line, with its findings. Two runs of one seed have the same log,
//! byte for byte.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno::runtime::Clock;
use segno_core::time::Timestamp;

use super::fault::Fault;
use crate::world::{BEGINNING, SimClock};

/// Maximum number of lines kept; later ones are only counted.
const LINES: usize = 40_000;

/// The event log.
pub struct Book {
    clock: Arc<SimClock>,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    lines: Vec<String>,
    left_out: u64,
    wrong: Vec<String>,
    struck: BTreeMap<&'static str, u64>,
}

impl Book {
    /// An empty book.
    pub fn new(clock: Arc<SimClock>) -> Self {
        Self { clock, pages: Mutex::default() }
    }

    /// Milliseconds since the beginning of the world.
    pub fn at(&self) -> i64 {
        self.clock.now().since(BEGINNING).0
    }

    /// The world's time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Adds a line.
    pub fn note(&self, line: impl std::fmt::Display) {
        let at = self.at();
        let mut pages = self.pages();
        if pages.lines.len() < LINES {
            pages.lines.push(format!("{at:>7} {line}"));
        } else {
            pages.left_out += 1;
        }
    }

    /// Adds a finding: the run has failed.
    pub fn wrong(&self, what: impl std::fmt::Display) {
        let what = what.to_string();
        self.note(format_args!("WRONG {what}"));
        let mut pages = self.pages();
        if pages.wrong.len() < 20 {
            pages.wrong.push(what);
        }
    }

    /// Counts a fault that has happened.
    pub fn struck(&self, kind: &'static str) {
        *self.pages().struck.entry(kind).or_default() += 1;
    }

    /// Counts and logs a planned fault that happens now.
    pub fn strikes(&self, fault: &Fault) {
        self.note(format_args!("FAULT {fault}"));
        self.struck(fault.kind());
    }

    /// Whether there is a finding.
    pub fn is_wrong(&self) -> bool {
        !self.pages().wrong.is_empty()
    }

    /// All findings, the whole log, and the number of faults of each kind.
    pub fn close(&self) -> (Vec<String>, String, BTreeMap<&'static str, u64>) {
        let pages = std::mem::take(&mut *self.pages());
        let mut text = pages.lines.join("\n");
        text.push_str(&format!("\n{} further lines\n", pages.left_out));
        (pages.wrong, text, pages.struck)
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
