//! What a load does, in order. The store sends the statements; the simulation goes through the same
//! list over rows of its own, with a snapshot for each entry, and compares what a decision saw with
//! what there was.

/// An entry: one statement, or a few alike, with a snapshot of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Schedules, resources and leases on them are locked by their names, and read.
    LockNamed,
    /// Promises are locked.
    LockPromises,
    /// The tasks of these promises, and of those that await them, are locked and read.
    LockTasks,
    /// Promises of which only the tasks are locked, and those without a task, are read.
    Promises,
    /// Everything else is read.
    Rest {
        /// Whether what was looked for in vain is looked for again: it may have come while a lock
        /// was waited for.
        again: bool,
    },
    /// What belongs to invocations and is only ever added, the facts of sagas, is read.
    Owned,
}

/// A load. Nothing is waited for after [`Read::LockTasks`]; so [`Read::Rest`] sees all that those
/// did who were waited for, and its snapshot is the one that a decision is made on.
pub const PLAN: [Read; 6] = [
    Read::LockNamed,
    Read::LockPromises,
    Read::LockTasks,
    Read::Promises,
    Read::Rest { again: true },
    Read::Owned,
];
