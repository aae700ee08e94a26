//! What happened, line by line, and what was wrong. Two runs of one seed have the same book, byte for byte.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno::runtime::Clock;
use segno_core::time::Timestamp;

use super::fault::Fault;
use crate::world::{BEGINNING, SimClock};

/// Lines a book keeps; what comes later is only counted.
const LINES: usize = 40_000;

/// See the module.
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

    /// Notes that something happened.
    pub fn note(&self, line: impl std::fmt::Display) {
        let at = self.at();
        let mut pages = self.pages();
        if pages.lines.len() < LINES {
            pages.lines.push(format!("{at:>7} {line}"));
        } else {
            pages.left_out += 1;
        }
    }

    /// Notes that something is wrong: the run has failed.
    pub fn wrong(&self, what: impl std::fmt::Display) {
        let what = what.to_string();
        self.note(format_args!("WRONG {what}"));
        let mut pages = self.pages();
        if pages.wrong.len() < 20 {
            pages.wrong.push(what);
        }
    }

    /// Counts a fault that really happened.
    pub fn struck(&self, kind: &'static str) {
        *self.pages().struck.entry(kind).or_default() += 1;
    }

    /// Counts and notes a planned fault that happened now.
    pub fn strikes(&self, fault: &Fault) {
        self.note(format_args!("FAULT {fault}"));
        self.struck(fault.kind());
    }

    /// Whether anything was wrong so far.
    pub fn is_wrong(&self) -> bool {
        !self.pages().wrong.is_empty()
    }

    /// All that was wrong, the whole book, and how often each kind of fault happened.
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
