//! A link, as an implementation of the store.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use async_trait::async_trait;
use segno_core::{command::Command, promise::Delivery, reply::Reply};
use segno_resonate::address::Destination;
use segno_store::{CallTree, Modules, Read, Scan, Store, StoreError, WorkQueue};

use super::{
    fault::MessageFault,
    link::{Link, unknown},
};
use crate::{gate::Gate, gated_reads};

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
impl Store for Link {
    async fn execute(&self, commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        self.way().await?;
        let is_heartbeat = |command: &Command| matches!(command, Command::TaskHeartbeat { .. });
        if self.conditions.heartless.load(Ordering::Relaxed) && commands.iter().any(is_heartbeat) {
            return Err(unknown());
        }
        if self.roll(MessageFault::RequestLoss) {
            return Err(unknown());
        }
        if self.control.is_some() {
            let number = self.network.database.next_commit();
            let commit_fault = {
                let mut commit_faults =
                    self.network.commit_faults.lock().unwrap_or_else(PoisonError::into_inner);
                commit_faults.remove(&number)
            };
            if let Some(how) = commit_fault {
                return Err(self.failed_commit(how, &commands).await);
            }
        }
        let replies = self.commit(&commands).await;
        if self.roll(MessageFault::RequestTwice) {
            self.again(commands);
        }
        if self.roll(MessageFault::AnswerLoss) {
            return Err(unknown());
        }
        self.delay().await;
        self.alive().await;
        if self.conditions.cut.load(Ordering::Relaxed) {
            return Err(unknown());
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

    async fn execute_kept(&self, commands: Arc<[Command]>) -> Result<Vec<Reply>, StoreError> {
        self.execute(commands.to_vec()).await
    }

    fn read(&self) -> &dyn Read {
        self
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        self
    }

    fn scan(&self) -> &dyn Scan {
        self
    }

    fn call_tree(&self) -> &dyn CallTree {
        self.network.database.memory.call_tree()
    }

    fn modules(&self) -> &dyn Modules {
        self
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        None
    }

    async fn check_writes(&self) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.check_writes().await
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        self.way().await?;
        self.network.database.memory.vacuum().await
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        self.way().await?;
        self.network.database.memory.wipe().await
    }

    async fn close(&self) {}
}

impl Gate for Link {
    async fn pass(&self) -> Result<(), StoreError> {
        self.way().await
    }

    fn behind(&self) -> &dyn Store {
        &*self.network.database.memory
    }

    fn shown(&self) -> u32 {
        u32::MAX
    }
}

gated_reads!(Link);
