//! The state of objects. No decision reads it; the queue of an object determines who may write it.

use std::borrow::Cow;

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
    large_value::{ChunkList, ChunkSet, ValueOwner, ValueRows},
    rows::{needed, number},
};

pub(crate) const STATE: SqlTable = SqlTable {
    name: "object_state",
    columns: "object, name, kind, value, bytes",
    kinds: &[Word, Word, Int, Blob, Int],
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
    /// The changes that `delta` makes; adds the chunks of large entries to `values`.
    pub(crate) fn of(delta: &Delta, values: &mut ValueRows) -> Self {
        let cleared = delta.cleared.iter().map(|object| vec![object.as_str().into()]);
        let mut rows = Self { cleared: cleared.collect(), ..Self::default() };
        values.released_objects.extend(delta.cleared.iter().cloned());
        for ((object, name), value) in &delta.state {
            let key: [SqlCell; 2] = [object.as_str().into(), name.as_str().into()];
            let owner = ValueOwner::State(object, name);
            values.released.push([owner.into()]);
            match value {
                None => rows.deleted.push(key.into()),
                Some(payload) => {
                    let kind = i64::from(matches!(payload, Payload::Bytes(_)));
                    let [value, bytes] = values.cells(owner, payload.as_bytes());
                    rows.put.push(key.into_iter().chain([kind.into(), value, bytes]).collect());
                }
            }
        }
        rows
    }
}

/// The list of the chunks of a large entry.
pub(crate) fn state_list(row: &impl RowFields) -> Result<Option<ChunkList>, SqlFailure> {
    let is_large = row.int(4)?.is_some();
    Ok(row.blob(3)?.filter(|_| is_large).and_then(ChunkList::decode))
}

/// Decodes one entry of an object's state; `chunks` has those of [`state_list`].
pub(crate) fn state(
    row: &impl RowFields,
    chunks: &ChunkSet,
) -> Result<(StateKey, Payload), SqlFailure> {
    let object = ObjectId::from(&*needed(row.text(0)?, &"object_state", "object")?);
    let name = Text::from(&*needed(row.text(1)?, &object, "name")?);
    let column = needed(row.blob(3)?, &object, "value")?;
    let value = match row.int(4)? {
        None => Cow::Borrowed(column),
        Some(_) => {
            let list = state_list(row)?.and_then(|list| chunks.value(&list));
            Cow::Owned(needed(list, &object, "value")?)
        }
    };
    let value = &*value;
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
