//! Where clients may start workflows: at a host, which begins them before they are stored.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno::{
    desk::{Desk, Seat},
    hub::Hub,
};
use segno_core::command::Hold;

use super::dice::Dice;

/// The hosts that are up, by life.
#[derive(Default)]
pub struct Desks(Mutex<BTreeMap<u64, Arc<Hub>>>);

impl Desks {
    /// A life of a host takes starts.
    pub fn open(&self, life: u64, hub: Arc<Hub>) {
        self.hubs().insert(life, hub);
    }

    /// It takes none any more.
    pub fn shut(&self, life: u64) {
        self.hubs().remove(&life);
    }

    /// A seat at one of them; none: nobody is up, or that one has no room.
    pub fn any(&self, dice: &mut Dice) -> Option<(Arc<Desk>, (Seat, Hold))> {
        let hubs: Vec<Arc<Hub>> = self.hubs().values().cloned().collect();
        if hubs.is_empty() {
            return None;
        }
        let desk = dice.pick(&hubs).desk()?;
        let seat = desk.seat()?;
        Some((desk, seat))
    }

    fn hubs(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Hub>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
