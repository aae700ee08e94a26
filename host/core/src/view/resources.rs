//! Resources and their leases.

use super::View;
use crate::{
    footprint::Footprint,
    id::ResourceName,
    promise::{Resource, ResourceLease},
};

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
