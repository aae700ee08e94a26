//! What was asked and answered, and in which order calls and answers came.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{command::Command, id::PromiseId, time::Timestamp};

/// A question.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A command.
    Command(Command),
    /// A promise with its task, read beside all commands.
    Read(PromiseId),
}

/// A question, and what became of it.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The question.
    pub asked: Asked,
    /// The time by which it was decided.
    pub now: Timestamp,
    /// When it was asked, as the events of all clients are numbered.
    pub called: u64,
    /// When it was answered; none: nobody knows whether it happened.
    pub answered: Option<u64>,
    /// The answer.
    pub answer: Option<String>,
}

/// Operations by the group of promises that they are about.
#[derive(Default)]
pub struct History {
    events: AtomicU64,
    groups: Mutex<Vec<Vec<Operation>>>,
}

impl History {
    /// A history of so many groups.
    pub fn new(groups: usize) -> Self {
        Self { events: AtomicU64::new(0), groups: Mutex::new(vec![Vec::new(); groups]) }
    }

    /// The number of the next event.
    pub fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst)
    }

    /// Adds what is over.
    pub fn add(&self, group: usize, operation: Operation) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)[group].push(operation);
    }

    /// All of it.
    pub fn close(self) -> Vec<Vec<Operation>> {
        self.groups.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
