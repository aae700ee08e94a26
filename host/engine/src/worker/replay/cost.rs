//! The cost of a replay on one module and on another: instructions and memory, counted on a
//! separate engine.

use std::sync::Arc;

use segno_core::id::{Digest, PromiseId};
use segno_guest::{Cost, GuestError, Guests};

use super::{ReplayError, ReplayFailure, ReplaySetup};
use crate::host::Host;

/// The cost of a replay on the code of an execution, and on other code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostChange {
    /// The cost on the code that runs the execution.
    pub own: Cost,
    /// The cost on the other code.
    pub other: Cost,
}

/// Compares the costs of executions on the modules of a host.
pub struct CostMeter {
    /// The host, with guests that count instructions.
    host: Host,
}

impl CostMeter {
    /// A meter for the modules of `host`. Each module is compiled once more for it, at its first
    /// use.
    ///
    /// # Errors
    /// Counting is not available on this host.
    pub fn new(host: &Host) -> Result<Self, GuestError> {
        let guests: Arc<dyn Guests> = host.guests.counting()?;
        Ok(Self { host: Host { guests, ..host.clone() } })
    }

    /// Replays the first `records` of `id`'s journal on its own module and on `candidate`. `None`
    /// if one of the two does not reach the end.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub async fn compare(
        &self,
        id: &PromiseId,
        records: u32,
        candidate: Digest,
    ) -> Result<Option<CostChange>, ReplayError> {
        let Some(own) = self.cost(id, records, None).await? else { return Ok(None) };
        let other = self.cost(id, records, Some(candidate)).await?;
        Ok(other.map(|other| CostChange { own, other }))
    }

    async fn cost(
        &self,
        id: &PromiseId,
        records: u32,
        module: Option<Digest>,
    ) -> Result<Option<Cost>, ReplayError> {
        let mut rehearsal = ReplaySetup::new(&self.host, id, module, Some(records)).await?;
        match rehearsal.run(|| {}).await {
            Ok(()) => Ok(rehearsal.instance.cost()),
            Err(ReplayFailure::Guest(_)) => Ok(None),
            Err(ReplayFailure::Unread(not_read)) => Err(ReplayError::unread(id, not_read)),
        }
    }
}
