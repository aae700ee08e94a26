//! The steps of a load, in order. The store sends their statements. The simulation runs the same
//! list over its own rows, with a snapshot per step, and compares the decision's view with the rows
//! that existed.

/// A step: one statement, or a few similar ones, each with its own snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStep {
    /// Locks and reads rows by name: schedules, resources and their leases.
    LockNamed,
    /// Locks promises.
    LockPromises,
    /// Locks and reads the tasks of these promises, and those of their awaiters.
    LockTasks,
    /// Reads promises of which only the tasks are locked, and promises without a task.
    Promises,
    /// Reads everything else.
    Rest {
        /// True to look again for rows that were not found: they may have been inserted while the
        /// batch waited for a lock.
        again: bool,
    },
    /// Reads append-only rows of invocations: the facts of sagas.
    Owned,
}

/// The steps of a load. Nothing waits for a lock after [`LoadStep::LockTasks`]; so [`LoadStep::Rest`] sees
/// the effects of all transactions that were waited for, and its snapshot is the one that the
/// decision is based on.
pub const PLAN: [LoadStep; 6] = [
    LoadStep::LockNamed,
    LoadStep::LockPromises,
    LoadStep::LockTasks,
    LoadStep::Promises,
    LoadStep::Rest { again: true },
    LoadStep::Owned,
];
