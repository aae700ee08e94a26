//! Protocols that a host speaks beside its own, each a crate above this one.
//!
//! A protocol is added to [`Protocols`] before the host takes work. It runs the tasks of its targets under a
//! [`Claimed`], and is asked where only it has the answer.

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
    /// Whether it runs tasks with this target.
    fn takes(&self, target: &str) -> bool;

    /// Runs a task until it ends, waits or fails; the claim is given back in every case.
    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd;

    /// The same for an invocation that is not stored yet: `claim` stores it with the first commands under the claim,
    /// and nothing leaves the host before that.
    async fn start(self: Arc<Self>, claimed: Claimed, claim: &mut dyn ClaimWriter) -> ClaimEnd;

    /// The invocation with which a key runs this function, if it is one that runs once a key.
    fn run_of(&self, address: &Address) -> Option<PromiseId>;

    /// A field of a recorded request, for people; `None`: it is shown as any other.
    fn shown(&self, field: &RequestField) -> Option<Json>;

    /// A module lost an alias: what is remembered of aliases may be wrong.
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

    /// All of them.
    pub fn all(&self) -> Vec<Arc<dyn Protocol>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one that runs tasks with this target.
    pub fn of(&self, target: &str) -> Option<Arc<dyn Protocol>> {
        self.first(|protocol| protocol.takes(target).then(|| protocol.clone()))
    }

    /// As [`Protocol::run_of`].
    pub fn run_of(&self, address: &Address) -> Option<PromiseId> {
        self.first(|protocol| protocol.run_of(address))
    }

    /// As [`Protocol::shown`].
    pub fn shown(&self, field: &RequestField) -> Option<Json> {
        self.first(|protocol| protocol.shown(field))
    }

    fn first<T>(&self, answer: impl FnMut(&Arc<dyn Protocol>) -> Option<T>) -> Option<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().find_map(answer)
    }
}
