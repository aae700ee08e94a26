//! The state shared by all links of one world, and that of all incarnations of one node.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use segno_core::command::Command;
use tokio::sync::Notify;

use super::{
    bus::{Bus, NetworkFaults},
    database::Database,
    event_log::EventLog,
    fault::CommitFault,
    resonate::Endpoints,
    running_hosts::RunningHosts,
};
use crate::world::SimRuntime;

/// The state shared by all links of one world.
pub struct Network {
    /// The database.
    pub database: Arc<Database>,
    /// The receivers of commit hints.
    pub bus: Arc<Bus>,
    /// Where hosts can be asked.
    pub endpoints: Endpoints,
    /// The hosts that take speculative starts.
    pub running_hosts: RunningHosts,
    /// The risks of messages.
    pub network_faults: Arc<NetworkFaults>,
    /// The event log.
    pub log: Arc<EventLog>,
    /// Where the world's own tasks run.
    pub runtime: Arc<SimRuntime>,
    /// Faults of commits, by the number of the commit.
    pub commit_faults: Mutex<BTreeMap<u64, CommitFault>>,
    /// Decides.
    pub seed: u64,
}

/// The conditions of all incarnations of one node, or of one external worker.
#[derive(Default)]
pub struct Conditions {
    /// It cannot reach the store.
    pub cut: AtomicBool,
    /// It is frozen.
    pub frozen: AtomicBool,
    /// Whether its heartbeats get lost.
    pub heartless: AtomicBool,
    /// Notified when the node continues.
    pub thawed: Notify,
    /// The commands that it sent and that were carried out.
    pub asked: Mutex<Vec<Command>>,
}

impl Conditions {
    /// Completes when the node is not frozen.
    pub async fn going(&self) {
        loop {
            let thawed = self.thawed.notified();
            if !self.frozen.load(Ordering::Relaxed) {
                return;
            }
            thawed.await;
        }
    }

    /// Goes on.
    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::Relaxed);
        self.thawed.notify_waiters();
    }
}
