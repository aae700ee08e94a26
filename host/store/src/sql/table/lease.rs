//! Leases on resources, keyed by resource name.

use segno_core::{
    id::ResourceName,
    promise::{FenceToken, ResourceLease},
    unreadable::Subject,
};

use super::{
    ColumnKind::{Int, Text},
    ConflictRule, NamedTable, SqlTable, named,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{at, needed, number, text},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "resource_leases",
        columns: "name, token, holder, until_at",
        kinds: &[Text, Int, Text, Int],
        key: 1,
        again: ConflictRule::ReplacesSmaller("token"),
    },
    load: "load leases on resources",
    put: "put leases on resources",
    wanted: |rows| rows.resources.iter().map(ResourceName::as_str).collect(),
    want: |name, rows| {
        rows.resources.insert(name.into());
    },
    subject: |name| Subject::Resource(name.into()),
    read: |row, view| lease(&row).map(|lease| view.put_resource_lease(lease)),
    written: |delta| delta.resource_leases.values().map(cells).collect(),
    deleted: named::none,
};

fn cells(lease: &ResourceLease) -> CellRow {
    vec![
        lease.name.as_str().into(),
        lease.token.0.into(),
        lease.holder.as_str().into(),
        lease.until.0.into(),
    ]
}

fn lease(row: &impl RowFields) -> Result<ResourceLease, SqlFailure> {
    let name = ResourceName::new(needed(row.text(0)?, &"resource_leases", "name")?);
    Ok(ResourceLease {
        token: FenceToken(number(row, 1, &name, "token")?.cast_unsigned()),
        holder: text(row, 2)?,
        until: needed(at(row, 3)?, &name, "until_at")?,
        name,
    })
}
