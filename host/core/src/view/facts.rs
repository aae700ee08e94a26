//! The facts of sagas.

use super::View;
use crate::{
    footprint::Footprint,
    id::PromiseId,
    saga::{Fact, FactKey},
};

impl View {
    /// The facts of this invocation's sagas.
    pub fn facts_of(&self, invocation: &PromiseId) -> impl Iterator<Item = (&FactKey, &Fact)> {
        self.lookups.facts.0.get(invocation).into_iter().flatten()
    }

    /// A fact of one of this invocation's sagas.
    pub fn fact(&self, invocation: &PromiseId, key: &FactKey) -> Option<&Fact> {
        self.lookups.facts.0.get(invocation)?.get(key)
    }

    /// All facts of sagas, by invocation.
    pub fn facts(&self) -> impl Iterator<Item = (&PromiseId, &FactKey, &Fact)> {
        self.lookups.facts.0.iter().flat_map(|(invocation, facts)| {
            facts.iter().map(move |(key, fact)| (invocation, key, fact))
        })
    }

    /// Puts a fact of a saga.
    pub fn put_fact(&mut self, invocation: PromiseId, key: FactKey, fact: Fact) {
        self.lookups.facts.0.entry(invocation).or_default().insert(key, fact);
    }

    /// Puts what is wanted of them into another view.
    pub(crate) fn load_facts(&self, wanted: &Footprint, to: &mut View) {
        for id in &wanted.facts {
            for (key, fact) in self.facts_of(id) {
                to.put_fact(id.clone(), key.clone(), fact.clone());
            }
        }
    }
}
