//! Operations with their answers, and the order of calls and answers.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{command::Command, id::PromiseId, time::Timestamp};

/// An operation of a client.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A command.
    Command(Command),
    /// A promise with its task, read beside all commands.
    Read(PromiseId),
}

/// An operation and its answer.
#[derive(Debug, Clone)]
pub struct Operation<A = Asked> {
    /// The operation.
    pub asked: A,
    /// The time of its decision.
    pub now: Timestamp,
    /// The number of its call among the events of all clients.
    pub called: u64,
    /// The number of its answer; none: the outcome is unknown.
    pub answered: Option<u64>,
    /// The answer.
    pub answer: Option<String>,
}

/// Operations by the group of promises that they concern.
pub struct History<A = Asked> {
    events: AtomicU64,
    groups: Mutex<Vec<Vec<Operation<A>>>>,
}

impl<A: Clone> History<A> {
    /// A history with `groups` groups.
    pub fn new(groups: usize) -> Self {
        Self { events: AtomicU64::new(0), groups: Mutex::new(vec![Vec::new(); groups]) }
    }

    /// The number of the next event.
    pub fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst)
    }

    /// Adds an operation that is over.
    pub fn add(&self, group: usize, operation: Operation<A>) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)[group].push(operation);
    }

    /// All of it.
    pub fn close(self) -> Vec<Vec<Operation<A>>> {
        self.groups.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
