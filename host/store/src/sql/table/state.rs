//! The state of objects. No decision reads it; the queue of an object determines who may write it.

use segno_core::{
    delta::Delta,
    id::ObjectId,
    object::StateKey,
    value::{Payload, Text},
};

use super::{
    ColumnKind::{Blob, Int, Text as Word},
    ConflictRule, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlCell, SqlFailure,
    rows::{needed, number},
};

pub(crate) const STATE: SqlTable = SqlTable {
    name: "object_state",
    columns: "object, name, kind, value",
    kinds: &[Word, Word, Int, Blob],
    key: 2,
    again: ConflictRule::Replaces,
};

/// The changes to the state of objects, in the order of execution.
#[derive(Debug, Default)]
pub(crate) struct StateRows {
    /// Objects whose whole state is deleted.
    pub(crate) cleared: Vec<CellRow>,
    /// The keys of rows to delete.
    pub(crate) deleted: Vec<CellRow>,
    /// Rows to write.
    pub(crate) put: Vec<CellRow>,
}

impl StateRows {
    /// The changes that `delta` makes.
    pub(crate) fn of(delta: &Delta) -> Self {
        let cleared = delta.cleared.iter().map(|object| vec![object.as_str().into()]);
        let mut rows = Self { cleared: cleared.collect(), ..Self::default() };
        for ((object, name), value) in &delta.state {
            let key: [SqlCell; 2] = [object.as_str().into(), name.as_str().into()];
            match value {
                None => rows.deleted.push(key.into()),
                Some(value) => rows.put.push(key.into_iter().chain(payload_cells(value)).collect()),
            }
        }
        rows
    }
}

fn payload_cells(value: &Payload) -> [SqlCell; 2] {
    match value {
        Payload::Json(text) => [0_i64.into(), text.as_str().as_bytes().into()],
        Payload::Bytes(bytes) => [1_i64.into(), bytes.as_slice().into()],
    }
}

/// Decodes one entry of an object's state.
pub(crate) fn state(row: &impl RowFields) -> Result<(StateKey, Payload), SqlFailure> {
    let object = ObjectId::from(&*needed(row.text(0)?, &"object_state", "object")?);
    let name = Text::from(&*needed(row.text(1)?, &object, "name")?);
    let value = needed(row.blob(3)?, &object, "value")?;
    let payload = match number(row, 2, &object, "kind")? {
        0 => {
            let text = std::str::from_utf8(value).ok();
            Payload::Json(Text::from(needed(text, &object, "value")?))
        }
        1 => Payload::Bytes(value.into()),
        _ => return needed(None, &object, "kind"),
    };
    Ok(((object, name), payload))
}
