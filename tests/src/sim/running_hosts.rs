//! The hosts at which clients may start workflows speculatively.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{command::ClaimRequest, promise::NewPromise};
use segno_engine::{
    host::Host,
    slots::{ExecutionSlots, Slot},
};

use super::dice::Dice;

/// Running hosts, by incarnation.
#[derive(Default)]
pub(super) struct RunningHosts(Mutex<BTreeMap<u64, Host>>);

impl RunningHosts {
    /// Adds an incarnation that accepts starts.
    pub(super) fn add(&self, life: u64, host: Host) {
        self.hosts().insert(life, host);
    }

    /// Removes an incarnation.
    pub(super) fn remove(&self, life: u64) {
        self.hosts().remove(&life);
    }

    /// A slot at a random host. `None` if no host is up, or the chosen one has no free slot.
    pub(super) fn any(
        &self,
        dice: &mut Dice,
        new: &NewPromise,
    ) -> Option<(Arc<ExecutionSlots>, (Slot, ClaimRequest))> {
        let hosts: Vec<Host> = self.hosts().values().cloned().collect();
        if hosts.is_empty() {
            return None;
        }
        let slots = dice.pick(&hosts).slots()?;
        let slot = slots.slot(new)?;
        Some((slots, slot))
    }

    fn hosts(&self) -> MutexGuard<'_, BTreeMap<u64, Host>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
