//! The connection between hosts and a deployment, with the faults of a script.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::time::Millis;

use super::super::{
    event_log::EventLog,
    fault::{Absence, Fault, FrameFault},
};
use crate::world::deployment::{Fate, Line};

/// Connection to one deployment.
pub(crate) struct Way {
    deployment: usize,
    log: Arc<EventLog>,
    /// Planned faults, by the number of the frame.
    planned: Mutex<BTreeMap<u64, FrameFault>>,
    absence: Mutex<Option<Absence>>,
}

impl Way {
    /// Creates the connection to the deployment with this number.
    pub(crate) fn new(
        deployment: usize,
        planned: BTreeMap<u64, FrameFault>,
        log: Arc<EventLog>,
    ) -> Self {
        Self { deployment, log, planned: Mutex::new(planned), absence: Mutex::new(None) }
    }

    /// Makes the deployment unavailable from now on. `None` makes it available again.
    pub(crate) fn set(&self, absence: Option<Absence>) {
        *lock(&self.absence) = absence;
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        self.set(None);
        lock(&self.planned).clear();
    }
}

impl Line for Way {
    fn request(&self) -> Fate {
        self.log.count("attempts of services");
        match *lock(&self.absence) {
            None => Fate::Passes,
            Some(Absence::Down) => Fate::Breaks,
            Some(Absence::Late { by }) => Fate::Late(Millis(by)),
            Some(Absence::Silent) => Fate::Vanishes,
        }
    }

    fn frame(&self, number: u64, is_single: bool) -> Fate {
        self.log.count(["frames of deployment 0", "frames of deployment 1"][self.deployment]);
        if *lock(&self.absence) == Some(Absence::Down) {
            return Fate::Breaks;
        }
        let mut planned = lock(&self.planned);
        let due = planned.range(..=number).find(|(_, how)| **how != FrameFault::Twice || is_single);
        let Some((from, how)) = due.map(|(from, how)| (*from, *how)) else { return Fate::Passes };
        planned.remove(&from);
        self.log.fault(&Fault::Frame { deployment: self.deployment, number, how });
        match how {
            FrameFault::Cut => Fate::Breaks,
            FrameFault::Twice => Fate::Twice,
            FrameFault::Late { by } => Fate::Late(Millis(by)),
            FrameFault::Silence => Fate::Vanishes,
        }
    }

    fn taken_twice(&self, number: u64) {
        let deployment = self.deployment;
        self.log.finding(format_args!(
            "service: the frame {number} of deployment {deployment} came twice, and nobody complained"
        ));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
