//! Rows that belong to no promise: the initial task version, modules, aliases, hosts.

use super::View;
use crate::{
    id::{Digest, HostName, Version},
    value::Text,
};

impl View {
    /// Initial version of new tasks: greater than that of every removed task.
    pub fn first_version(&self) -> Version {
        self.first_version
    }

    /// The module that an alias refers to.
    pub fn alias(&self, name: &str) -> Option<Digest> {
        self.aliases.get(name).copied()
    }

    /// True if the module was uploaded.
    pub fn has_module(&self, module: &Digest) -> bool {
        self.modules.contains_key(module)
    }

    /// Number of starts of a host.
    pub fn incarnation(&self, node: &HostName) -> u64 {
        self.hosts.get(node).copied().unwrap_or_default()
    }

    pub fn aliases(&self) -> impl Iterator<Item = (&Text, &Digest)> {
        self.aliases.iter()
    }

    /// All hosts with their number of starts.
    pub fn hosts(&self) -> impl Iterator<Item = (&HostName, u64)> {
        self.hosts.iter().map(|(node, incarnation)| (node, *incarnation))
    }

    /// Sets the initial task version, unless it is already greater.
    pub fn raise_first_version(&mut self, version: Version) {
        self.first_version = self.first_version.max(version);
    }

    pub fn put_alias(&mut self, name: Text, module: Digest) {
        self.aliases.insert(name, module);
    }

    /// Adds an uploaded module.
    pub fn put_module(&mut self, module: Digest) {
        self.modules.entry(module).or_default();
    }

    pub fn remove_module(&mut self, module: &Digest) {
        self.modules.remove(module);
    }

    pub fn put_host(&mut self, node: HostName, incarnation: u64) {
        self.hosts.insert(node, incarnation);
    }
}
