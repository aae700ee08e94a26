//! Resources and their leases.

use std::collections::BTreeMap;

use super::View;
use crate::{
    delta::Delta,
    footprint::Footprint,
    id::ResourceName,
    promise::{Resource, ResourceLease},
};

#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    values: BTreeMap<ResourceName, Resource>,
    leases: BTreeMap<ResourceName, ResourceLease>,
}

impl Resources {
    pub(super) fn write(&mut self, delta: &Delta) {
        let owned = |(name, row): (&ResourceName, &Resource)| (name.clone(), row.clone());
        self.values.extend(delta.resources.iter().map(owned));
        let owned = |(name, row): (&ResourceName, &ResourceLease)| (name.clone(), row.clone());
        self.leases.extend(delta.resource_leases.iter().map(owned));
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() + self.leases.len()
    }
}

impl View {
    pub fn resource(&self, name: &ResourceName) -> Option<&Resource> {
        self.lookups.resources.values.get(name)
    }

    pub fn resource_lease(&self, name: &ResourceName) -> Option<&ResourceLease> {
        self.lookups.resources.leases.get(name)
    }

    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.lookups.resources.values.values()
    }

    pub fn resource_leases(&self) -> impl Iterator<Item = &ResourceLease> {
        self.lookups.resources.leases.values()
    }

    pub fn put_resource(&mut self, resource: Resource) {
        self.lookups.resources.values.insert(resource.name.clone(), resource);
    }

    pub fn put_resource_lease(&mut self, lease: ResourceLease) {
        self.lookups.resources.leases.insert(lease.name.clone(), lease);
    }

    /// Copies the wanted resources and leases into another view.
    pub(crate) fn load_resources(&self, wanted: &Footprint, to: &mut View) {
        for name in &wanted.resources {
            self.resource(name).into_iter().for_each(|row| to.put_resource(row.clone()));
            let lease = self.resource_lease(name);
            lease.into_iter().for_each(|lease| to.put_resource_lease(lease.clone()));
        }
    }
}
