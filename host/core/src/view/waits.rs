//! Callbacks and listeners on promises.

use super::View;
use crate::{id::PromiseId, value::Text};

impl View {
    /// The callbacks on this promise: each awaiter, and true if the callback is consumed.
    pub fn callbacks_on(&self, awaited: &PromiseId) -> impl Iterator<Item = (&PromiseId, bool)> {
        self.callbacks
            .get(awaited)
            .into_iter()
            .flatten()
            .map(|(awaiter, consumed)| (awaiter, *consumed))
    }

    /// The callback of an awaiter on a promise: true if consumed, `None` if there is none.
    pub fn callback(&self, awaited: &PromiseId, awaiter: &PromiseId) -> Option<bool> {
        self.callbacks.get(awaited)?.get(awaiter).copied()
    }

    /// The promises that this task has callbacks on.
    pub fn awaited_by(&self, awaiter: &PromiseId) -> impl Iterator<Item = &PromiseId> {
        self.awaits.get(awaiter).into_iter().flatten()
    }

    /// The addresses to notify when this promise settles.
    pub fn listeners_on(&self, awaited: &PromiseId) -> impl Iterator<Item = &Text> {
        self.listeners.get(awaited).into_iter().flatten()
    }

    /// All callbacks: awaited, awaiter, and true if consumed.
    pub fn callbacks(&self) -> impl Iterator<Item = (&PromiseId, &PromiseId, bool)> {
        self.callbacks.iter().flat_map(|(awaited, awaiters)| {
            awaiters.iter().map(move |(awaiter, consumed)| (awaited, awaiter, *consumed))
        })
    }

    /// All listeners: awaited, address.
    pub fn listeners(&self) -> impl Iterator<Item = (&PromiseId, &Text)> {
        self.listeners.iter().flat_map(|(awaited, addresses)| {
            addresses.iter().map(move |address| (awaited, address))
        })
    }

    pub fn put_callback(&mut self, awaited: PromiseId, awaiter: PromiseId, consumed: bool) {
        self.awaits.entry(awaiter.clone()).or_default().insert(awaited.clone());
        self.callbacks.entry(awaited).or_default().insert(awaiter, consumed);
    }

    pub fn remove_callback(&mut self, awaited: &PromiseId, awaiter: &PromiseId) {
        if let Some(awaiters) = self.callbacks.get_mut(awaited) {
            awaiters.remove(awaiter);
            if awaiters.is_empty() {
                self.callbacks.remove(awaited);
            }
        }
        if let Some(awaited_ones) = self.awaits.get_mut(awaiter) {
            awaited_ones.remove(awaited);
            if awaited_ones.is_empty() {
                self.awaits.remove(awaiter);
            }
        }
    }

    pub fn put_listener(&mut self, awaited: PromiseId, address: Text) {
        self.listeners.entry(awaited).or_default().insert(address);
    }

    pub fn remove_listener(&mut self, awaited: &PromiseId, address: &Text) {
        if let Some(addresses) = self.listeners.get_mut(awaited) {
            addresses.remove(address);
            if addresses.is_empty() {
                self.listeners.remove(awaited);
            }
        }
    }
}
