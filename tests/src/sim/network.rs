//! The state shared by all links of one world, and the state shared by all incarnations of one
//! node.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use segno_core::command::Command;
use segno_sim::{PlannedFaults, SimRuntime};
use tokio::sync::Notify;

use super::{
    bus::{Bus, NetworkFaults},
    database::Database,
    event_log::EventLog,
    resonate::Endpoints,
    running_hosts::RunningHosts,
};

/// State shared by all links of one world.
pub(super) struct Network {
    pub database: Arc<Database>,
    /// Bus of commit hints and messages.
    pub bus: Arc<Bus>,
    /// Endpoints of the running hosts.
    pub endpoints: Endpoints,
    /// Hosts that accept speculative starts.
    pub running_hosts: RunningHosts,
    /// Fault levels of messages.
    pub network_faults: Arc<NetworkFaults>,
    pub log: Arc<EventLog>,
    /// Runtime of the world's own tasks.
    pub runtime: Arc<SimRuntime>,
    /// Faults of hosts at their commits.
    pub commit_faults: PlannedFaults,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Conditions of all incarnations of one node, or of one external worker.
#[derive(Default)]
pub(super) struct Conditions {
    /// True if the store is out of reach.
    pub cut: AtomicBool,
    /// True if the node is frozen.
    pub frozen: AtomicBool,
    /// True if its heartbeats are lost.
    pub heartless: AtomicBool,
    /// Notified when the node continues.
    pub thawed: Notify,
    /// Commands that it sent and that were executed.
    pub asked: Mutex<Vec<Command>>,
}

impl Conditions {
    /// Completes when the node is not frozen.
    pub(super) async fn going(&self) {
        loop {
            let thawed = self.thawed.notified();
            if !self.frozen.load(Ordering::Relaxed) {
                return;
            }
            thawed.await;
        }
    }

    /// Unfreezes the node.
    pub(super) fn thaw(&self) {
        self.frozen.store(false, Ordering::Relaxed);
        self.thawed.notify_waiters();
    }
}
