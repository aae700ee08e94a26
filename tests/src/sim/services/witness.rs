//! What handlers saw. Of everything that a run came to, all who come after it see the same, in every attempt; what they
//! saw first is remembered here, outside of the engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value as Json;

use super::super::event_log::EventLog;

/// What was seen so far.
pub struct Witness {
    log: Arc<EventLog>,
    seen: Mutex<BTreeMap<String, Json>>,
}

impl Witness {
    /// Nothing was seen yet.
    pub fn new(log: Arc<EventLog>) -> Self {
        Self { log, seen: Mutex::default() }
    }

    /// `what` was seen to be this.
    pub fn saw(&self, what: &str, value: &Json) {
        let mut seen = self.seen();
        let first = seen.entry(what.to_owned()).or_insert_with(|| value.clone());
        if first != value {
            self.log.finding(format_args!("service: {what} was {first}, and is {value}"));
        }
    }

    /// Something is so, and must not be.
    pub fn wrong(&self, what: impl std::fmt::Display) {
        self.log.finding(format_args!("service: {what}"));
    }

    /// What was seen, if it was.
    pub fn known(&self, what: &str) -> Option<Json> {
        self.seen().get(what).cloned()
    }

    /// Everything is begun anew.
    pub fn forget(&self) {
        self.seen().clear();
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Json>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
