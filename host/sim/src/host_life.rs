//! One incarnation of a host, from its start to its crash.

use std::sync::Arc;

use segno_core::id::HostName;
use segno_engine::{
    boot::{self, RunningHost},
    host::Host,
    worker::WorkerSettings,
};
use segno_store::StoreError;

use super::{commit_fault::PlannedFaults, runtime::SimRuntime};

/// A host that is up, with its tasks.
pub struct HostLife {
    pub runtime: Arc<SimRuntime>,
    pub running: RunningHost,
}

impl HostLife {
    /// Starts `host`, whose tasks run on `runtime`. Returns `None` if it dies during its start, at
    /// a commit with a fault.
    ///
    /// # Errors
    /// The store did not answer, or the outcome of a commit is unknown.
    pub async fn start(
        host: Host,
        runtime: Arc<SimRuntime>,
        node: HostName,
        settings: WorkerSettings,
        faults: &PlannedFaults,
    ) -> Result<Option<Self>, StoreError> {
        let started = tokio::select! {
            biased;
            () = faults.crash.notified() => Ok(None),
            started = boot::start(host, node, settings) => started.map(Some),
        };
        if !matches!(started, Ok(Some(_))) {
            runtime.crash();
        }
        Ok(started?.map(|running| Self { runtime, running }))
    }
}
