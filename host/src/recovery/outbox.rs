//! Messages owed.

use segno_core::{command::Command, promise::Delivery, reply::Reply};

use super::driver::Next;
use crate::{host::Host, store::StoreError};

/// Due rows handled in one transaction.
const PAGE: u32 = 256;

/// Hands over what is due. Messages to the engine itself are dealt with by the command; the others have no taker on
/// this host yet, and stay until one acknowledges them.
pub async fn turn(host: Host) -> Result<Next, StoreError> {
    let due = host.store.outbox_due(host.surroundings.clock.now(), PAGE).await?;
    if !due.commands.is_empty() {
        let mut handed_over = false;
        let replies = host.store.execute(due.commands.clone()).await?;
        for (command, reply) in due.commands.iter().zip(replies) {
            if let (Command::OutboxDue { key }, Reply::Message(Some(delivery))) = (command, reply) {
                handed_over = true;
                match *delivery {
                    Delivery::Execute { task, target, .. } => {
                        tracing::debug!(%task, %target, "no worker outside is connected for this target");
                    }
                    Delivery::Unblock { .. } | Delivery::Event { .. } => {
                        tracing::debug!(?key, "a message waits for somebody to take it");
                    }
                }
            }
        }
        // What was handed over is due later. Where nothing was, the store's clock is behind this host's, and asking
        // again at once would ask without end; what the engine dealt with hints at what is left.
        return Ok(if handed_over { Next::Now } else { Next::Idle });
    }
    let now = host.surroundings.clock.now();
    Ok(due.next.map_or(Next::Idle, |next| Next::After(next.since(now))))
}
