//! Streams, keyed by id.

use segno_core::{
    id::{PromiseId, StreamId},
    stream::DurableStream,
    unreadable::Subject,
};

use super::{
    ColumnKind::{Int, Text},
    ConflictRule, NamedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{damaged, needed},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "streams",
        columns: "id, owner, due_at, detail",
        kinds: &[Text, Text, Int, Text],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load streams",
    put: "put streams",
    wanted: |rows| rows.streams.iter().map(StreamId::as_str).collect(),
    want: |id, rows| {
        rows.streams.insert(id.into());
    },
    subject: |id| Subject::Stream(id.into()),
    read: |row, view| stream(&row, 3).map(|stream| view.put_stream(stream)),
    written: |delta| delta.streams.values().flatten().map(cells).collect(),
    deleted: |delta| {
        let gone = delta.streams.iter().filter(|(_, stream)| stream.is_none());
        gone.map(|(id, _)| vec![id.as_str().into()]).collect()
    },
};

fn cells(stream: &DurableStream) -> CellRow {
    let detail = serde_json::to_string(stream).expect("texts and numbers are JSON");
    let owner = stream.id.owner();
    vec![
        stream.id.as_str().into(),
        owner.as_ref().map(PromiseId::as_str).into(),
        stream.due_at().map(|at| at.0).into(),
        detail.into(),
    ]
}

/// The stream whose JSON is in a column.
pub(crate) fn stream(row: &impl RowFields, column: usize) -> Result<DurableStream, SqlFailure> {
    let detail = needed(row.text(column)?, &"streams", "detail")?;
    serde_json::from_str(&detail).map_err(|_| damaged(&"streams", "detail").into())
}
