//! Resources and the leases on them.

use super::View;
use crate::{
    footprint::Footprint,
    id::ResourceName,
    promise::{Resource, ResourceLease},
};

impl View {
    /// The resource with this name.
    pub fn resource(&self, name: &ResourceName) -> Option<&Resource> {
        self.lookups.resources.values.get(name)
    }

    /// The lease on the resource with this name.
    pub fn resource_lease(&self, name: &ResourceName) -> Option<&ResourceLease> {
        self.lookups.resources.leases.get(name)
    }

    /// All resources, by name.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.lookups.resources.values.values()
    }

    /// All leases on resources, by name.
    pub fn resource_leases(&self) -> impl Iterator<Item = &ResourceLease> {
        self.lookups.resources.leases.values()
    }

    /// Puts a resource.
    pub fn put_resource(&mut self, resource: Resource) {
        self.lookups.resources.values.insert(resource.name.clone(), resource);
    }

    /// Puts a lease on a resource.
    pub fn put_resource_lease(&mut self, lease: ResourceLease) {
        self.lookups.resources.leases.insert(lease.name.clone(), lease);
    }

    /// Puts what is wanted of them into another view.
    pub(crate) fn load_resources(&self, wanted: &Footprint, to: &mut View) {
        for name in &wanted.resources {
            self.resource(name).into_iter().for_each(|row| to.put_resource(row.clone()));
            let lease = self.resource_lease(name);
            lease.into_iter().for_each(|lease| to.put_resource_lease(lease.clone()));
        }
    }
}
