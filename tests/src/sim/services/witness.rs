//! Observations of handlers. All readers of a run's result must see the same value, in every
//! attempt. The first observation is recorded here, outside the engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value as Json;

use super::super::event_log::EventLog;

/// Observations so far.
pub(super) struct Witness {
    log: Arc<EventLog>,
    seen: Mutex<BTreeMap<String, Json>>,
}

impl Witness {
    /// Creates a witness without observations.
    pub(super) fn new(log: Arc<EventLog>) -> Self {
        Self { log, seen: Mutex::default() }
    }

    /// Records that `what` had this value. A different earlier value is a finding.
    pub(super) fn saw(&self, what: &str, value: &Json) {
        let mut seen = self.seen();
        let first = seen.entry(what.to_owned()).or_insert_with(|| value.clone());
        if first != value {
            self.log.finding(format_args!("service: {what} was {first}, and is {value}"));
        }
    }

    /// Records a violation as a finding.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) {
        self.log.finding(format_args!("service: {what}"));
    }

    /// Recorded value of `what`. `None` if there is none.
    pub(super) fn known(&self, what: &str) -> Option<Json> {
        self.seen().get(what).cloned()
    }

    /// Forgets all observations, because everything starts again.
    pub(super) fn forget(&self) {
        self.seen().clear();
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Json>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
