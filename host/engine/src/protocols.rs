//! Protocols that a host speaks in addition to its own. Each is a crate that depends on this one.
//!
//! A protocol is added to [`Protocols`] before the host claims work. It runs tasks with its
//! targets, and answers questions about its addresses and recorded fields.

use std::sync::{Arc, PoisonError, RwLock};

use segno_core::{address::Address, id::PromiseId, invocation::RequestField};
use serde_json::Value as Json;

use crate::{claim::Target, recovery::retention::KeepRule};

/// A protocol with targets of its own, which it also runs.
pub trait Protocol: Target + KeepRule {
    /// True if this protocol runs tasks with this target.
    fn takes(&self, target: &str) -> bool;

    /// The id of the run of this function for its key, if the function runs once per key; the
    /// caller checks that. `None` if the address has no key or belongs to another protocol.
    fn run_of(&self, address: &Address) -> Option<PromiseId>;

    /// The readable form of a field of a recorded request. `None` for the default form.
    fn shown(&self, field: &RequestField) -> Option<Json>;

    /// Called when a module lost an alias: cached aliases may be stale.
    fn alias_taken(&self);
}

/// The protocols of a host.
#[derive(Default)]
pub struct Protocols(RwLock<Vec<Arc<dyn Protocol>>>);

impl Protocols {
    /// Adds a protocol.
    pub fn add(&self, protocol: Arc<dyn Protocol>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(protocol);
    }

    /// All protocols, in the order in which they were added.
    pub fn all(&self) -> Vec<Arc<dyn Protocol>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The protocol that runs tasks with this target. `None` if there is none.
    pub fn of(&self, target: &str) -> Option<Arc<dyn Protocol>> {
        self.first(|protocol| protocol.takes(target).then(|| protocol.clone()))
    }

    /// The first answer of a protocol's [`Protocol::run_of`].
    pub fn run_of(&self, address: &Address) -> Option<PromiseId> {
        self.first(|protocol| protocol.run_of(address))
    }

    /// The first answer of a protocol's [`Protocol::shown`].
    pub fn shown(&self, field: &RequestField) -> Option<Json> {
        self.first(|protocol| protocol.shown(field))
    }

    fn first<T>(&self, answer: impl FnMut(&Arc<dyn Protocol>) -> Option<T>) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().find_map(answer)
    }
}
