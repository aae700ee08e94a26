//! Targets: the code that runs under a claim.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{promise::Promise, reply::TaskReply};
use segno_store::ExecutionHistory;

use super::ClaimSession;
use crate::{metrics::ClaimEnd, slots::SlotKind};

/// Rows that were read before the execution began.
#[derive(Debug, Default)]
pub struct PrefetchedRows {
    /// The stored journal. `None` if it was not read.
    pub history: Option<ExecutionHistory>,
    /// Promises that the workflow waits for and that are known to have settled.
    pub settled: Vec<Promise>,
}

/// A task that this host has claimed.
pub struct Claimed {
    /// The task as it was claimed.
    pub acquired: TaskReply,
    pub prefetched: PrefetchedRows,
    pub session: Arc<ClaimSession>,
}

impl Claimed {
    /// A claimed task without prefetched rows.
    pub(crate) fn new(session: &Arc<ClaimSession>, acquired: TaskReply) -> Self {
        Self { acquired, prefetched: PrefetchedRows::default(), session: session.clone() }
    }
}

/// The code of a task, run by a worker: a workflow, an activity, an HTTP step, a graph run, or an
/// invocation of another protocol.
#[async_trait]
pub trait Target: Send + Sync {
    /// The kind and number of places of the slot that a run holds.
    fn slot(&self) -> (SlotKind, usize) {
        (SlotKind::Request, 1)
    }

    /// Runs the task until it ends, suspends or fails. The claim is released in every case.
    ///
    /// The invocation may not be stored yet. The first commit then stores it, and it must have no
    /// external effect before that.
    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd;
}
