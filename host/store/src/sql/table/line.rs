//! The queues of objects ("lines"), keyed by object.

use segno_core::{
    id::{ObjectId, PromiseId},
    object::ObjectQueue,
    unreadable::Subject,
};

use super::{ColumnKind::Text, ConflictRule, NamedTable, SqlTable};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{id, needed},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "lines",
        columns: "object, holder, tail, run",
        kinds: &[Text, Text, Text, Text],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load lines of objects",
    put: "put lines of objects",
    wanted: |rows| rows.lines.iter().map(ObjectId::as_str).collect(),
    want: |object, rows| {
        rows.lines.insert(object.into());
    },
    subject: |object| Subject::Object(object.into()),
    read: |row, view| line(&row).map(|(object, line)| view.put_line(object, line)),
    written: |delta| {
        let written = delta.lines.iter();
        written.filter_map(|(object, line)| line.as_ref().map(|line| cells(object, line))).collect()
    },
    deleted: |delta| {
        let gone = delta.lines.iter().filter(|(_, line)| line.is_none());
        gone.map(|(object, _)| vec![object.as_str().into()]).collect()
    },
};

fn cells(object: &ObjectId, line: &ObjectQueue) -> CellRow {
    let [holder, run] = [&line.holder, &line.run].map(|id| id.as_ref().map(PromiseId::as_str));
    vec![object.as_str().into(), holder.into(), line.tail.as_str().into(), run.into()]
}

pub(crate) fn line(row: &impl RowFields) -> Result<(ObjectId, ObjectQueue), SqlFailure> {
    let object = needed(row.text(0)?, &"lines", "object")?;
    let holder = row.text(1)?.map(|_| id(row, 1)).transpose()?;
    let run = row.text(3)?.map(|_| id(row, 3)).transpose()?;
    Ok((ObjectId::from(&*object), ObjectQueue { holder, tail: id(row, 2)?, run }))
}
