//! Encodes and decodes journal data: the head, the records, and the log lines.

use segno_core::{
    id::PromiseId,
    invocation::{JournalHead, LogLine, Record, decode_records},
};

use super::column::{at, needed, number, small};
use crate::{
    LogRow,
    sql::{
        RowFields, SqlFailure,
        large_value::{ChunkList, ChunkSet},
    },
};

/// The format byte of a row of log lines.
///
/// ```text
/// lines = format: u8 (1), then the lines as one list in postcard
/// ```
const LOG_FORMAT: u8 = 1;

/// Encodes log lines.
pub(in crate::sql) fn encode_lines(lines: &[&LogLine]) -> Vec<u8> {
    postcard::to_extend(lines, vec![LOG_FORMAT]).expect("a log line holds nothing postcard refuses")
}

/// Decodes log lines.
pub(in crate::sql) fn decode_lines(bytes: &[u8]) -> Option<Vec<LogLine>> {
    match bytes {
        [LOG_FORMAT, lines @ ..] => postcard::from_bytes(lines).ok(),
        _ => None,
    }
}

/// The head of a journal: `end_seq, commands, notified, at, finished` from column `first` on.
pub(crate) fn head(
    row: &impl RowFields,
    first: usize,
    id: &PromiseId,
) -> Result<JournalHead, SqlFailure> {
    Ok(JournalHead {
        len: small(row, first, id, "end_seq")?,
        commands: small(row, first + 1, id, "commands")?,
        notified: small(row, first + 2, id, "notified")?,
        at: needed(at(row, first + 3)?, id, "at")?,
        finished: number(row, first + 4, id, "finished")? != 0,
    })
}

/// The list of the chunks of the records in column `column`; `None` if the column holds the
/// records.
pub(crate) fn records_list(
    row: &impl RowFields,
    column: usize,
) -> Result<Option<ChunkList>, SqlFailure> {
    Ok(row.blob(column)?.and_then(ChunkList::marked))
}

/// The records in column `column`; `chunks` has those of [`records_list`].
pub(crate) fn records(
    row: &impl RowFields,
    column: usize,
    invocation: &PromiseId,
    chunks: &ChunkSet,
) -> Result<Vec<Record>, SqlFailure> {
    records_in(needed(row.blob(column)?, invocation, "records")?, invocation, chunks)
}

/// Like [`records`], for the content of the column.
pub(crate) fn records_in(
    column: &[u8],
    invocation: &PromiseId,
    chunks: &ChunkSet,
) -> Result<Vec<Record>, SqlFailure> {
    match ChunkList::marked(column) {
        None => decoded(column, invocation),
        Some(list) => decoded(&needed(chunks.value(&list), invocation, "records")?, invocation),
    }
}

/// Decodes stored records.
pub(crate) fn decoded(records: &[u8], invocation: &PromiseId) -> Result<Vec<Record>, SqlFailure> {
    decode_records(records).map_err(|error| {
        SqlFailure::Unreadable(format!("the journal of `{invocation}` cannot be read: {error}"))
    })
}

/// Log lines: `lines, count`, and the number of the last line (from 1), from column `first` on.
pub(crate) fn log_lines(
    row: &impl RowFields,
    first: usize,
    id: &PromiseId,
) -> Result<Vec<LogRow>, SqlFailure> {
    let lines = needed(row.blob(first)?.and_then(decode_lines), id, "lines")?;
    let (count, end): (u32, u32) =
        (small(row, first + 1, id, "count")?, small(row, first + 2, id, "count")?);
    Ok((end - count..).zip(&lines).map(|(line, logged)| LogRow::numbered(line, logged)).collect())
}
