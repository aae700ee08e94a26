//! What all links of one world share, and what holds for all lives of one node.

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
    book::Book,
    bus::{Bus, Weather},
    database::Database,
    desks::Desks,
    fault::CommitFault,
    resonate::Doors,
};
use crate::world::SimRuntime;

/// What all links of one world share.
pub struct Network {
    /// The far end.
    pub database: Arc<Database>,
    /// Who hears of commits.
    pub bus: Arc<Bus>,
    /// Where hosts can be asked.
    pub doors: Doors,
    /// Where hosts take starts.
    pub desks: Desks,
    /// What every message risks.
    pub weather: Arc<Weather>,
    /// What happened.
    pub book: Arc<Book>,
    /// Where the world's own tasks run.
    pub runtime: Arc<SimRuntime>,
    /// Commits to be struck.
    pub strikes: Mutex<BTreeMap<u64, CommitFault>>,
    /// Decides.
    pub seed: u64,
}

/// What holds for all lives of one node, or of one worker outside.
#[derive(Default)]
pub struct Conditions {
    /// It cannot reach the store.
    pub cut: AtomicBool,
    /// It is frozen.
    pub frozen: AtomicBool,
    /// Its heartbeats do not arrive.
    pub heartless: AtomicBool,
    /// Told when it goes on.
    pub thawed: Notify,
    /// What it asked so far, and was carried out.
    pub asked: Mutex<Vec<Command>>,
}

impl Conditions {
    /// Ends when it is not frozen.
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
