//! Checks of resources: leases, and writes under fence tokens.

use std::collections::BTreeMap;

use segno_core::{id::ResourceName, promise::FenceToken};

use super::metrics::Step;

/// Fence tokens of all resources, tracked outside the engine.
#[derive(Default)]
pub(super) struct Tokens {
    granted: BTreeMap<ResourceName, FenceToken>,
    written: BTreeMap<ResourceName, FenceToken>,
}

impl Tokens {
    /// Checks that no client gets a resource that another holds, that each lease has its own token,
    /// and that no write succeeds after one under a later token.
    pub(super) fn step(&mut self, step: &Step<'_>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, after) in &step.after.resource_leases {
            let before = step.before.resource_leases.get(name);
            if before == Some(after) {
                continue;
            }
            if let Some(held) = before.filter(|lease| lease.until > step.now)
                && held.holder != after.holder
            {
                wrong.push(format!("resource: `{name}` is held by {held:?} and by {after:?}"));
            }
            if self
                .granted
                .insert(name.clone(), after.token)
                .is_some_and(|last| last >= after.token)
            {
                wrong.push(format!("resource: `{name}` was granted under {} again", after.token));
            }
        }
        for (name, after) in &step.after.resources {
            if step.before.resources.get(name) == Some(after) {
                continue;
            }
            if self
                .written
                .insert(name.clone(), after.token)
                .is_some_and(|last| last >= after.token)
            {
                wrong.push(format!("resource: `{name}` was written under {} late", after.token));
            }
        }
        wrong
    }
}
