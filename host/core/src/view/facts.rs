use super::View;
use crate::{
    footprint::Footprint,
    id::PromiseId,
    saga::{Fact, FactKey},
};

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
