//! Resources, which are written under fencing tokens.

use segno_core::{
    id::ResourceName,
    promise::{FenceToken, Resource},
    unreadable::Subject,
};

use super::{
    ColumnKind::{Blob, Int, Text},
    ConflictRule, NamedTable, SqlTable, named,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{headers, needed, number, value},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "resources",
        columns: "name, token, value_headers, value",
        kinds: &[Text, Int, Text, Blob],
        key: 1,
        again: ConflictRule::ReplacesSmaller("token"),
    },
    load: "load resources",
    put: "put resources",
    wanted: |rows| rows.resources.iter().map(ResourceName::as_str).collect(),
    want: |name, rows| {
        rows.resources.insert(name.into());
    },
    subject: |name| Subject::Resource(name.into()),
    read: |row, view| resource(&row).map(|resource| view.put_resource(resource)),
    written: |delta| delta.resources.values().map(cells).collect(),
    deleted: named::none,
};

fn cells(resource: &Resource) -> CellRow {
    vec![
        resource.name.as_str().into(),
        resource.token.0.into(),
        headers(&resource.value),
        resource.value.data.as_slice().into(),
    ]
}

fn resource(row: &impl RowFields) -> Result<Resource, SqlFailure> {
    let name = ResourceName::new(needed(row.text(0)?, &"resources", "name")?);
    let data = needed(row.blob(3)?, &name, "value")?;
    Ok(Resource {
        token: FenceToken(number(row, 1, &name, "token")?.cast_unsigned()),
        value: value(row, 2, data, &name)?,
        name,
    })
}
