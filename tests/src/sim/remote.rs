//! A link, as the gate in front of the store.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use segno_core::{command::Command, promise::Delivery, reply::Reply};
use segno_resonate::address::Destination;
use segno_sim::{StoreGate, unknown_outcome};
use segno_store::{Store, StoreError};

use super::{fault::MessageFault, link::Link};

/// True for a message to a worker or client of the Resonate protocol. It leaves by the front end of
/// the host that delivers it.
fn is_for_a_front_end(delivery: &Delivery) -> bool {
    match delivery {
        Delivery::Execute { target: address, .. } | Delivery::Unblock { address, .. } => {
            Destination::parse(address).is_some()
        }
        Delivery::Event { .. } => false,
    }
}

#[async_trait]
impl StoreGate for Link {
    fn behind(&self) -> &dyn Store {
        &*self.network.database.memory
    }

    async fn pass(&self) -> Result<(), StoreError> {
        self.way().await
    }

    async fn commit(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.way().await?;
        let is_heartbeat = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
        if self.conditions.heartless.load(Ordering::Relaxed) && commands.iter().any(is_heartbeat) {
            return Err(unknown_outcome());
        }
        if self.roll(MessageFault::RequestLoss) {
            return Err(unknown_outcome());
        }
        if self.control.is_some()
            && let Some(how) = self.network.commit_faults.next_commit()
        {
            return Err(self.fail(how, &commands).await);
        }
        let replies = self.write(&commands).await;
        if self.roll(MessageFault::RequestTwice) {
            self.again(commands);
        }
        if self.roll(MessageFault::AnswerLoss) {
            return Err(unknown_outcome());
        }
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            return Err(unknown_outcome());
        }
        for reply in &replies {
            if let (Reply::Message(Some(delivery)), Some(_)) = (reply, self.life)
                && !is_for_a_front_end(delivery)
            {
                self.network.bus.deliver(delivery);
            }
        }
        Ok(replies)
    }
}
