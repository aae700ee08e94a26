//! Deadlines, leases and retries.

use super::driver::Next;
use crate::{host::Host, store::StoreError};

/// Due rows handled in one transaction.
const PAGE: u32 = 1_000;

/// Fires what is due.
pub async fn turn(host: Host) -> Result<Next, StoreError> {
    host.hub.plan_timers(None);
    let due = host.store.due(host.surroundings.clock.now(), PAGE).await?;
    let more = due.commands.len() >= PAGE as usize;
    if !due.commands.is_empty() {
        host.store.execute(due.commands).await?;
    }
    if more {
        return Ok(Next::Now);
    }
    let now = host.surroundings.clock.now();
    // The driver looks again after its period at the latest.
    let period = now + host.config.scan_period;
    host.hub.plan_timers(Some(due.next.map_or(period, |next| next.min(period))));
    Ok(due.next.map_or(Next::Idle, |next| Next::After(next.since(now))))
}
