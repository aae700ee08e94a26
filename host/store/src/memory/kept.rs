//! The data of the memory store: the core's rows, and data that the core leaves to stores: numbers,
//! logs, components.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    delta::Delta,
    id::{Digest, PromiseId},
    invocation::LogLine,
    model::Model,
    object::ModuleFacts,
    time::Timestamp,
    view::View,
};

use crate::order;

/// The whole content of the store.
#[derive(Clone)]
pub(super) struct MemoryContent {
    /// Shared with readers of all rows; copied on write while such a reader exists.
    pub(super) model: Arc<Model>,
    /// Promise ids by number, which follows creation order.
    pub(super) numbers: BTreeMap<i64, PromiseId>,
    /// The last number assigned; numbers are never reused.
    last_number: i64,
    pub(super) by_id: BTreeMap<PromiseId, i64>,
    pub(super) logs: BTreeMap<PromiseId, Vec<LogLine>>,
    pub(super) modules: BTreeMap<Digest, MemoryModule>,
}

/// An uploaded component.
#[derive(Clone)]
pub(super) struct MemoryModule {
    pub(super) component: Arc<[u8]>,
    pub(super) description: String,
    pub(super) facts: ModuleFacts,
    pub(super) created_at: Timestamp,
}

impl MemoryContent {
    /// An empty store.
    pub(super) fn new() -> Self {
        Self {
            model: Arc::default(),
            numbers: BTreeMap::new(),
            last_number: 0,
            by_id: BTreeMap::new(),
            logs: BTreeMap::new(),
            modules: BTreeMap::new(),
        }
    }

    /// Applies a decision's delta.
    pub(super) fn apply(&mut self, delta: &Delta) {
        for id in &delta.removed {
            self.by_id.remove(id).iter().for_each(|number| {
                self.numbers.remove(number);
            });
            self.logs.remove(id);
        }
        for id in order::unnumbered(delta, |id| self.by_id.contains_key(id)) {
            self.last_number += 1;
            self.numbers.insert(self.last_number, id.clone());
            self.by_id.insert(id, self.last_number);
        }
        delta.dropped_journals.iter().for_each(|id| drop(self.logs.remove(id)));
        for (invocation, line) in &delta.logs {
            self.logs.entry(invocation.clone()).or_default().push(line.clone());
        }
        if !delta.is_empty() {
            Arc::make_mut(&mut self.model).apply(delta);
        }
    }

    /// Deletes everything except modules, aliases and hosts.
    pub(super) fn wipe(&mut self) {
        let mut rows = View::new();
        rows.raise_first_version(self.model.first_version());
        let modules = self.modules.iter();
        modules.for_each(|(digest, module)| rows.put_module_facts(*digest, module.facts.clone()));
        let aliases = self.model.aliases().map(|(name, module)| (name.clone(), *module));
        aliases.for_each(|(name, module)| rows.put_alias(name, module));
        let hosts = self.model.hosts().map(|(node, incarnation)| (node.clone(), incarnation));
        hosts.for_each(|(node, incarnation)| rows.put_host(node, incarnation));
        self.model = Arc::new(rows.into());
        self.numbers.clear();
        self.by_id.clear();
        self.logs.clear();
    }

    /// The number of a promise, which orders listings.
    pub(super) fn number(&self, id: &PromiseId) -> i64 {
        self.by_id.get(id).copied().unwrap_or_default()
    }

    /// The `limit` promises after `after`, and the cursor of the next page.
    pub(super) fn page(&self, after: i64, limit: u32) -> (Vec<PromiseId>, Option<i64>) {
        let page: Vec<_> = self.numbers.range(after + 1..).take(limit as usize).collect();
        let next = page.last().map(|(number, _)| **number).filter(|_| page.len() == limit as usize);
        (page.into_iter().map(|(_, id)| id.clone()).collect(), next)
    }
}
