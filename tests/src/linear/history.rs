//! Operations with their answers, and the order of calls and answers.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno_core::{command::Command, id::PromiseId, time::Timestamp};

/// Request of a client.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A command.
    Command(Command),
    /// A read of a promise with its task, concurrent with commands.
    Read(PromiseId),
}

/// An operation and its answer.
#[derive(Debug, Clone)]
pub struct Operation<A = Asked> {
    pub asked: A,
    /// Time at which the operation is decided.
    pub now: Timestamp,
    /// Number of its call in the sequence of all clients' events.
    pub called: u64,
    /// Number of its answer in that sequence. `None`: the outcome is unknown.
    pub answered: Option<u64>,
    /// Answer. `None`: the outcome is unknown.
    pub answer: Option<String>,
}

/// Operations by the group of promises that they concern.
pub struct History<A = Asked> {
    events: AtomicU64,
    groups: Mutex<Vec<Vec<Operation<A>>>>,
}

impl<A: Clone> History<A> {
    /// Creates a history with `groups` groups.
    pub fn new(groups: usize) -> Self {
        Self { events: AtomicU64::new(0), groups: Mutex::new(vec![Vec::new(); groups]) }
    }

    /// Takes the number of the next event.
    pub fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst)
    }

    /// Adds a completed operation.
    pub fn add(&self, group: usize, operation: Operation<A>) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)[group].push(operation);
    }

    /// All operations, by group.
    pub fn close(self) -> Vec<Vec<Operation<A>>> {
        self.groups.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
