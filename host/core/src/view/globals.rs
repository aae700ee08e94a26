//! What is about no promise: the first version, modules, aliases, hosts.

use super::View;
use crate::{
    id::{Digest, NodeName, Version},
    value::Text,
};

impl View {
    /// The version at which tasks are born: above that of every task that was removed.
    pub fn first_version(&self) -> Version {
        self.first_version
    }

    /// The module an alias stands for.
    pub fn alias(&self, name: &str) -> Option<Digest> {
        self.aliases.get(name).copied()
    }

    /// Whether a module was uploaded.
    pub fn has_module(&self, module: &Digest) -> bool {
        self.modules.contains_key(module)
    }

    /// How often a host has started.
    pub fn incarnation(&self, node: &NodeName) -> u64 {
        self.hosts.get(node).copied().unwrap_or_default()
    }

    /// All aliases.
    pub fn aliases(&self) -> impl Iterator<Item = (&Text, &Digest)> {
        self.aliases.iter()
    }

    /// All hosts and how often they started.
    pub fn hosts(&self) -> impl Iterator<Item = (&NodeName, u64)> {
        self.hosts.iter().map(|(node, incarnation)| (node, *incarnation))
    }

    /// Says that tasks are born at this version, or a later one that is known already.
    pub fn raise_first_version(&mut self, version: Version) {
        self.first_version = self.first_version.max(version);
    }

    /// Puts an alias.
    pub fn put_alias(&mut self, name: Text, module: Digest) {
        self.aliases.insert(name, module);
    }

    /// Says that a module was uploaded.
    pub fn put_module(&mut self, module: Digest) {
        self.modules.entry(module).or_default();
    }

    /// Deletes a module.
    pub fn remove_module(&mut self, module: &Digest) {
        self.modules.remove(module);
    }

    /// Puts a host's incarnation.
    pub fn put_host(&mut self, node: NodeName, incarnation: u64) {
        self.hosts.insert(node, incarnation);
    }
}
