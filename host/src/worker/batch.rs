//! What polls added since the last commit.

use segno_core::{
    command::FenceAction,
    invocation::{LogLine, Record},
};

/// To be committed together.
#[derive(Debug, Default)]
pub struct Batch {
    /// To be appended.
    pub records: Vec<Record>,
    /// To be kept beside them.
    pub logs: Vec<LogLine>,
    /// To be done in the same transaction.
    pub actions: Vec<FenceAction>,
}

impl Batch {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.logs.is_empty() && self.actions.is_empty()
    }
}
