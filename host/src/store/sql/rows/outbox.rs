//! A message as the tables hold it.

use segno_core::{
    id::{CommandIndex, PromiseId},
    promise::{Message, OutboxKey, OutboxRow},
    value::Text,
};

use super::column::{at, damaged, id, needed, number, small};
use crate::store::{
    EventRow, listing,
    sql::{Cell, Fields},
};

/// The row of a message about promise `source`.
pub(in crate::store) fn outbox_cells(source: i64, key: &OutboxKey, row: &OutboxRow) -> [Cell; 7] {
    let [source, kind, part] = outbox_key_cells(source, key);
    let message =
        postcard::to_allocvec(&row.message).expect("a message holds nothing postcard refuses");
    [
        source,
        kind,
        part,
        row.next_at.0.into(),
        row.created_at.0.into(),
        row.attempts.into(),
        message.into(),
    ]
}

/// The key of a message about promise `source`.
pub(in crate::store) fn outbox_key_cells(source: i64, key: &OutboxKey) -> [Cell; 3] {
    let (kind, part) = listing::outbox_order(key);
    [source.into(), kind.into(), part.into()]
}

/// A message: `kind, part, next_at, created_at, attempts, message` from column `first` on.
pub(in crate::store) fn outbox(
    row: &impl Fields,
    first: usize,
    source: &PromiseId,
) -> Result<(OutboxKey, OutboxRow), sqlx::Error> {
    let key = outbox_key(row, first, source)?;
    let message =
        row.blob(first + 5)?.and_then(|bytes| postcard::from_bytes::<Message>(bytes).ok());
    let row = OutboxRow {
        message: needed(message, source, "message")?,
        next_at: needed(at(row, first + 2)?, source, "next_at")?,
        created_at: needed(at(row, first + 3)?, source, "created_at")?,
        attempts: small(row, first + 4, source, "attempts")?,
    };
    Ok((key, row))
}

/// An event: its source, the source's number, then the columns of [`outbox`].
pub(in crate::store) fn event(row: &impl Fields) -> Result<EventRow, sqlx::Error> {
    let source = id(row, 0)?;
    let number = number(row, 1, &source, "n")?;
    let (key, message) = outbox(row, 2, &source)?;
    EventRow::of(&key, &message, number).ok_or_else(|| damaged(&source, "message").into())
}

/// The key of a message about `source`, `kind, part` from column `first` on: the other way of
/// [`listing::outbox_order`].
pub(in crate::store) fn outbox_key(
    row: &impl Fields,
    first: usize,
    source: &PromiseId,
) -> Result<OutboxKey, sqlx::Error> {
    let kind = number(row, first, source, "kind")?;
    let part = needed(row.text(first + 1)?, source, "part")?;
    let source = source.clone();
    Ok(match kind {
        1 => OutboxKey::Execute(source),
        2 => OutboxKey::Unblock(source, Text::from(&*part)),
        3 => {
            let index = needed(part.parse().ok(), &source, "part")?;
            OutboxKey::Event(source, CommandIndex(index))
        }
        4 => OutboxKey::CancelChildren(source),
        _ => return Err(damaged(&source, "kind").into()),
    })
}
