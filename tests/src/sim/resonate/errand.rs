//! The operations of clients of the Resonate protocol.

/// One operation of a client, which repeats it until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Errand {
    /// Has a function run by whichever worker.
    Rpc {
        /// The name of the function.
        function: &'static str,
        /// The input of the function.
        input: u64,
        /// The deadline, in milliseconds after the beginning of the world, if there is one.
        deadline: Option<i64>,
    },
    /// Has a function run by one worker, which takes the task at once.
    Run {
        /// The name of the function.
        function: &'static str,
        /// The input of the function.
        input: u64,
        /// The deadline, in milliseconds after the beginning of the world, if there is one.
        deadline: Option<i64>,
        /// The number of the worker.
        worker: usize,
    },
    /// Registers for the outcome, again and again until it arrives.
    Hear,
    /// Gives what the first step of a workflow waits for.
    Grant,
    /// Settles the promise as cancelled.
    Withdraw,
    /// Halts the task, and has it go on after a while.
    Hold {
        /// Duration, in milliseconds.
        lasts: i64,
    },
}

impl Errand {
    /// Whether it begins a workflow.
    pub fn starts(&self) -> bool {
        matches!(self, Self::Rpc { .. } | Self::Run { .. })
    }

    /// Whether the workflow it begins may be over before it is done.
    pub fn has_deadline(&self) -> bool {
        matches!(self, Self::Rpc { deadline: Some(_), .. } | Self::Run { deadline: Some(_), .. })
    }
}
