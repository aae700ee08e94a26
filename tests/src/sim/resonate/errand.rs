//! The operations of clients of the Resonate protocol.

/// One operation of a client, which repeats it until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Calls a function on any worker.
    Rpc {
        /// Name of the function.
        function: &'static str,
        /// Input of the function.
        input: u64,
        /// Deadline, in milliseconds after the start of the world. `None` if there is none.
        deadline: Option<i64>,
    },
    /// Calls a function on one worker, which takes the task immediately.
    Run {
        /// Name of the function.
        function: &'static str,
        /// Input of the function.
        input: u64,
        /// Deadline, in milliseconds after the start of the world. `None` if there is none.
        deadline: Option<i64>,
        /// Index of the worker.
        worker: usize,
    },
    /// Registers for the outcome, repeatedly until it arrives.
    Hear,
    /// Settles the promise of the workflow's first step.
    Grant,
    /// Settles the workflow's promise as cancelled.
    Withdraw,
    /// Halts the task, and continues it later.
    Hold {
        /// Duration, in milliseconds.
        lasts: i64,
    },
}

impl Errand {
    /// True if the errand begins a workflow.
    pub fn starts(&self) -> bool {
        matches!(self, Self::Rpc { .. } | Self::Run { .. })
    }

    /// True if the workflow may pass its deadline before it completes.
    pub fn has_deadline(&self) -> bool {
        matches!(self, Self::Rpc { deadline: Some(_), .. } | Self::Run { deadline: Some(_), .. })
    }
}
