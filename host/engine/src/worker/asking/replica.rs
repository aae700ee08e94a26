//! An instance that replayed a journal without effects, and that answers questions.

use std::sync::PoisonError;

use segno_core::{id::Digest, invocation::Outline};
use segno_guest::Workflow;

use crate::worker::recording::SharedRecorder;

/// A shadow of a workflow.
pub(super) struct QueryReplica {
    pub(super) instance: Box<dyn Workflow>,
    pub(super) recorder: SharedRecorder,
    /// The outline of the records that the instance has seen.
    pub(super) outline: Outline,
    /// The number of records in the journal.
    pub(super) of: u32,
    pub(super) module: Digest,
}

impl QueryReplica {
    /// True if the shadow can continue later: it has done nothing beyond its records, and has seen
    /// the whole journal.
    pub(super) fn can_go_on(&self) -> bool {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.is_at(self.outline.head()) && self.outline.head().len == self.of
    }

    /// The module of the instance.
    pub(super) fn module(&self) -> Digest {
        self.module
    }

    /// Memory of the instance, in bytes.
    pub(super) fn footprint(&self) -> usize {
        self.instance.footprint()
    }
}
