//! Encodes and decodes outbox messages.

use segno_core::{
    id::{CommandIndex, PromiseId},
    limit::LimitName,
    promise::{OutboxKey, OutboxMessage, OutboxRow},
    value::Text,
};

use super::column::{at, damaged, id, needed, number, small};
use crate::{
    EventRow, order,
    sql::{RowFields, SqlCell, SqlFailure},
};

/// The format byte of a message.
///
/// ```text
/// message = format: u8 (129), then the message in postcard
/// ```
///
/// The first version wrote no format byte; its messages begin with their kind, 0 to 3. Format
/// numbers therefore start at 128.
pub(in crate::sql) const MESSAGE_FORMAT: u8 = 129;

/// Encodes a message.
pub(in crate::sql) fn encode_message(message: &OutboxMessage) -> Vec<u8> {
    postcard::to_extend(message, vec![MESSAGE_FORMAT])
        .expect("a message holds nothing postcard refuses")
}

/// Decodes a message written by this or an earlier version.
pub(in crate::sql) fn decode_message(bytes: &[u8]) -> Option<OutboxMessage> {
    match bytes {
        [MESSAGE_FORMAT, message @ ..] => postcard::from_bytes(message).ok(),
        [0..=3, ..] => postcard::from_bytes(bytes).ok(),
        _ => None,
    }
}

/// The outbox row of a message about promise number `source`.
pub(crate) fn outbox_cells(source: i64, key: &OutboxKey, row: &OutboxRow) -> [SqlCell; 7] {
    let [source, kind, part] = outbox_key_cells(source, key);
    [
        source,
        kind,
        part,
        row.next_at.0.into(),
        row.created_at.0.into(),
        row.attempts.into(),
        encode_message(&row.message).into(),
    ]
}

/// The outbox key of a message about promise number `source`.
pub(crate) fn outbox_key_cells(source: i64, key: &OutboxKey) -> [SqlCell; 3] {
    let (kind, part) = order::outbox_order(key);
    [source.into(), kind.into(), part.into()]
}

/// A message: `kind, part, next_at, created_at, attempts, message` from column `first` on.
pub(crate) fn outbox(
    row: &impl RowFields,
    first: usize,
    source: &PromiseId,
) -> Result<(OutboxKey, OutboxRow), SqlFailure> {
    let key = outbox_key(row, first, source)?;
    let message = row.blob(first + 5)?.and_then(decode_message);
    let row = OutboxRow {
        message: needed(message, source, "message")?,
        next_at: needed(at(row, first + 2)?, source, "next_at")?,
        created_at: needed(at(row, first + 3)?, source, "created_at")?,
        attempts: small(row, first + 4, source, "attempts")?,
    };
    Ok((key, row))
}

/// An event: its source, the source's number, then the columns of [`outbox`].
pub(crate) fn event(row: &impl RowFields) -> Result<EventRow, SqlFailure> {
    let source = id(row, 0)?;
    let number = number(row, 1, &source, "n")?;
    let (key, message) = outbox(row, 2, &source)?;
    EventRow::of(&key, &message, number).ok_or_else(|| damaged(&source, "message").into())
}

/// The key of a message about `source`, from `kind, part` in column `first` on: the inverse of
/// [`order::outbox_order`].
pub(crate) fn outbox_key(
    row: &impl RowFields,
    first: usize,
    source: &PromiseId,
) -> Result<OutboxKey, SqlFailure> {
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
        5 => OutboxKey::LeaveLimit(source, LimitName::from(&*part)),
        _ => return Err(damaged(&source, "kind").into()),
    })
}
