//! Parts that the rows of several tables share.

use segno_core::{
    address::{Address, SERVICE_SCHEME, service_of_object},
    id::ObjectId,
    promise::Promise,
};
use segno_restate::manifest::ServiceType;

use super::super::{row::TableRow, value::RowValue};

/// Number of rows in a page of the store.
pub(super) const PAGE: u32 = 500;

/// Returns the service, the scope and the key of an object as columns; `None` if it is not an
/// object of a service.
pub(super) fn of_object(object: &ObjectId) -> Option<TableRow> {
    let (service, scope, key) = service_of_object(object)?;
    Some(TableRow::from([
        ("service_name", service.into()),
        ("scope", scope.into()),
        ("service_key", key.into()),
    ]))
}

/// Returns the address that an invocation calls; `None` if it does not call a service.
pub(super) fn called(promise: &Promise) -> Option<Address> {
    let target = promise.target().filter(|target| target.starts_with(SERVICE_SCHEME))?;
    Address::parse(target).ok()
}

/// Returns bytes as text, or null if they are not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> RowValue {
    std::str::from_utf8(bytes).ok().into()
}

/// The name of a kind of services.
pub(super) fn kind_of_service(ty: ServiceType) -> &'static str {
    match ty {
        ServiceType::Service => "service",
        ServiceType::VirtualObject => "virtual_object",
        ServiceType::Workflow => "workflow",
    }
}
