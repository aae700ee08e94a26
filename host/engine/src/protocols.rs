//! Protocols that a host speaks in addition to its own. Each is a crate that depends on this one.
//!
//! A protocol is added to [`Protocols`] before the host claims work. It runs tasks with its
//! targets, each as a [`Claimed`], and answers questions about its addresses and recorded fields.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use segno_core::{address::Address, id::PromiseId, invocation::RequestField};
use serde_json::Value as Json;

use crate::{metrics::ClaimEnd, recovery::retention::KeepRule};

pub use crate::worker::claimed::{
    ActiveClaim, ClaimWorker, ClaimWriter, Claimed, ExecutionError, HaltReport, SettlementWatch,
    cancelled, note,
};

/// A protocol with targets of its own.
#[async_trait]
pub trait Protocol: KeepRule {
    /// True if this protocol runs tasks with this target.
    fn takes(&self, target: &str) -> bool;

    /// Runs a task until it ends, suspends or fails, and then releases the claim.
    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd;

    /// Runs an invocation that is not stored yet. `claim` stores it with the first commands under
    /// the claim. The invocation must have no external effect before that.
    async fn start(self: Arc<Self>, claimed: Claimed, claim: &mut dyn ClaimWriter) -> ClaimEnd;

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
