//! The state of objects. No decision reads it: the line of an object says who may write it.

use segno_core::{
    delta::Delta,
    id::ObjectId,
    object::StateKey,
    value::{Payload, Text},
};

use super::{
    Again,
    ColumnKind::{Blob, Int, Text as Word},
    Table,
};
use crate::sql::{
    Cell, CellRow, Failure, Fields,
    rows::{needed, number},
};

/// Where it is.
pub(crate) const STATE: Table = Table {
    name: "object_state",
    columns: "object, name, kind, value",
    kinds: &[Word, Word, Int, Blob],
    key: 2,
    again: Again::Replaces,
};

/// What is done to it, in this order.
#[derive(Debug, Default)]
pub(crate) struct StateRows {
    /// The objects of which all goes.
    pub(crate) cleared: Vec<CellRow>,
    /// The keys of rows that go.
    pub(crate) deleted: Vec<CellRow>,
    /// Rows that are written.
    pub(crate) put: Vec<CellRow>,
}

impl StateRows {
    /// What `delta` does.
    pub(crate) fn of(delta: &Delta) -> Self {
        let cleared = delta.cleared.iter().map(|object| vec![object.as_str().into()]);
        let mut rows = Self { cleared: cleared.collect(), ..Self::default() };
        for ((object, name), value) in &delta.state {
            let key: [Cell; 2] = [object.as_str().into(), name.as_str().into()];
            match value {
                None => rows.deleted.push(key.into()),
                Some(value) => rows.put.push(key.into_iter().chain(payload_cells(value)).collect()),
            }
        }
        rows
    }
}

fn payload_cells(value: &Payload) -> [Cell; 2] {
    match value {
        Payload::Json(text) => [0_i64.into(), text.as_str().as_bytes().into()],
        Payload::Bytes(bytes) => [1_i64.into(), bytes.as_slice().into()],
    }
}

/// A part of the state of an object.
pub(crate) fn state(row: &impl Fields) -> Result<(StateKey, Payload), Failure> {
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
