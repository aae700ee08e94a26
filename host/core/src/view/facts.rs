
use std::collections::BTreeMap;

use super::View;
use crate::{
    delta::Delta,
    footprint::Footprint,
    id::PromiseId,
    saga::{Fact, FactKey},
};

/// Facts by the invocation of their saga.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts(BTreeMap<PromiseId, BTreeMap<FactKey, Fact>>);

impl Facts {
    pub(super) fn write(&mut self, delta: &Delta) {
        for ((invocation, key), fact) in &delta.facts {
            self.0.entry(invocation.clone()).or_default().insert(key.clone(), fact.clone());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    pub(super) fn remove(&mut self, invocation: &PromiseId) {
        self.0.remove(invocation);
    }
}

impl View {
    pub fn facts_of(&self, invocation: &PromiseId) -> impl Iterator<Item = (&FactKey, &Fact)> {
        self.lookups.facts.0.get(invocation).into_iter().flatten()
    }

    pub fn fact(&self, invocation: &PromiseId, key: &FactKey) -> Option<&Fact> {
        self.lookups.facts.0.get(invocation)?.get(key)
    }

    pub fn facts(&self) -> impl Iterator<Item = (&PromiseId, &FactKey, &Fact)> {
        self.lookups.facts.0.iter().flat_map(|(invocation, facts)| {
            facts.iter().map(move |(key, fact)| (invocation, key, fact))
        })
    }

    pub fn put_fact(&mut self, invocation: PromiseId, key: FactKey, fact: Fact) {
        self.lookups.facts.0.entry(invocation).or_default().insert(key, fact);
    }

    /// Copies the wanted facts into another view.
    pub(crate) fn load_facts(&self, wanted: &Footprint, to: &mut View) {
        for id in &wanted.facts {
            for (key, fact) in self.facts_of(id) {
                to.put_fact(id.clone(), key.clone(), fact.clone());
            }
        }
    }
}
