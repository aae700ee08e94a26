//! Resources, leases on them and facts of sagas as the core knows them, and as the tables of every
//! database hold them.

use segno_core::{
    id::{PromiseId, ResourceName},
    promise::{FenceToken, Resource, ResourceLease},
    saga::{Fact, FactKey, FactKind},
    value::Text,
};

use super::{
    Cell, Failure, Fields,
    rows::{at, headers, id, needed, number, small, text, value},
};

/// The row of a resource: `name, token, value_headers, value`.
pub(crate) fn resource_cells(resource: &Resource) -> [Cell; 4] {
    [
        resource.name.as_str().into(),
        resource.token.0.into(),
        headers(&resource.value),
        resource.value.data.as_slice().into(),
    ]
}

/// The resource of a row of these columns from `first` on.
pub(crate) fn resource(row: &impl Fields, first: usize) -> Result<Resource, Failure> {
    let name = ResourceName::new(needed(row.text(first)?, &"resources", "name")?);
    let data = needed(row.blob(first + 3)?, &name, "value")?;
    Ok(Resource {
        token: FenceToken(number(row, first + 1, &name, "token")?.cast_unsigned()),
        value: value(row, first + 2, data, &name)?,
        name,
    })
}

/// The row of a lease on a resource: `name, token, holder, until_at`.
pub(crate) fn lease_cells(lease: &ResourceLease) -> [Cell; 4] {
    [
        lease.name.as_str().into(),
        lease.token.0.into(),
        lease.holder.as_str().into(),
        lease.until.0.into(),
    ]
}

/// The lease of a row of these columns from `first` on.
pub(crate) fn lease(row: &impl Fields, first: usize) -> Result<ResourceLease, Failure> {
    let name = ResourceName::new(needed(row.text(first)?, &"resource_leases", "name")?);
    Ok(ResourceLease {
        token: FenceToken(number(row, first + 1, &name, "token")?.cast_unsigned()),
        holder: text(row, first + 2)?,
        until: needed(at(row, first + 3)?, &name, "until_at")?,
        name,
    })
}

/// The row of a fact of a saga of the invocation with this number:
/// `inv, saga, seq, fact, promise, compensate, unknown, at`.
pub(crate) fn fact_cells(invocation: i64, key: &FactKey, fact: &Fact) -> [Cell; 8] {
    [
        invocation.into(),
        key.saga.as_str().into(),
        key.seq.into(),
        i64::from(key.kind.number()).into(),
        fact.promise.as_str().into(),
        fact.compensate.as_ref().map(Text::as_str).into(),
        fact.unknown.into(),
        fact.at.0.into(),
    ]
}

/// The fact of a row of these columns from `first` on, with the invocation's id instead of its
/// number.
pub(crate) fn fact(row: &impl Fields, first: usize) -> Result<(PromiseId, FactKey, Fact), Failure> {
    let invocation = id(row, first)?;
    let kind = FactKind::from_number(small(row, first + 3, &invocation, "fact")?);
    let key = FactKey {
        saga: text(row, first + 1)?,
        seq: small(row, first + 2, &invocation, "seq")?,
        kind: needed(kind, &invocation, "fact")?,
    };
    let fact = Fact {
        promise: id(row, first + 4)?,
        compensate: row.text(first + 5)?.map(|address| Text::from(&*address)),
        unknown: number(row, first + 6, &invocation, "unknown")? != 0,
        at: needed(at(row, first + 7)?, &invocation, "at")?,
    };
    Ok((invocation, key, fact))
}
