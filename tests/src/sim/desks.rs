//! Where clients may start workflows: at a host, which begins them before they are stored.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno::{
    host::Host,
    slots::{ExecutionSlots, Slot},
};
use segno_core::command::Hold;

use super::dice::Dice;

/// The hosts that are up, by life.
#[derive(Default)]
pub struct Desks(Mutex<BTreeMap<u64, Host>>);

impl Desks {
    /// A life of a host takes starts.
    pub fn open(&self, life: u64, host: Host) {
        self.hosts().insert(life, host);
    }

    /// It takes none any more.
    pub fn shut(&self, life: u64) {
        self.hosts().remove(&life);
    }

    /// A slot at one of them; none: nobody is up, or that one has no room.
    pub fn any(&self, dice: &mut Dice) -> Option<(Arc<ExecutionSlots>, (Slot, Hold))> {
        let hosts: Vec<Host> = self.hosts().values().cloned().collect();
        if hosts.is_empty() {
            return None;
        }
        let slots = dice.pick(&hosts).slots()?;
        let slot = slots.slot()?;
        Some((slots, slot))
    }

    fn hosts(&self) -> MutexGuard<'_, BTreeMap<u64, Host>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
