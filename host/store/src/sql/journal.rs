//! A journal row: consecutive records, and the head of the journal after them.

use segno_core::{
    delta::JournalAppend,
    id::PromiseId,
    invocation::{JournalHead, Record, encode_records, join_records},
};

use super::{
    SqlCell, SqlFailure,
    large_value::{ChunkList, ValueOwner, ValueRows},
    rows,
};

/// A journal row; see the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct JournalRow {
    /// The invocation that the journal belongs to.
    pub(crate) invocation: PromiseId,
    /// Number of the invocation.
    pub(crate) number: i64,
    /// Sequence number of the first record.
    pub(crate) first: u32,
    /// The head of the journal after the last record.
    pub(crate) head: JournalHead,
    /// The encoded records, or the encoded list of their chunks.
    pub(crate) records: Vec<u8>,
}

/// Rows are joined up to this number of records and bytes. Journals are read in pages, and a page
/// reads whole rows.
const JOINED_RECORDS: u32 = 1_024;
const JOINED_BYTES: usize = 64 << 10;

impl JournalRow {
    /// The row for consecutive appends to one journal; `None` if there are none. Adds the chunks of
    /// large rows to `values`.
    pub(crate) fn of(
        number: i64,
        appends: &[(i64, &JournalAppend)],
        values: &mut ValueRows,
    ) -> Option<Self> {
        let (&(_, first), &(_, last)) = (appends.first()?, appends.last()?);
        let records = encode_records(appends.iter().flat_map(|(_, append)| &append.records));
        let list = values.chunked(ValueOwner::Journal(number), &records);
        Some(Self {
            invocation: first.invocation.clone(),
            number,
            first: first.before.len,
            head: last.after,
            records: list.unwrap_or(records),
        })
    }

    /// Appends the following row to this one. Returns false, without changing anything, if the row
    /// would become too large, or does not follow.
    pub(crate) fn join(&mut self, next: &Self) -> bool {
        let fits = next.head.len - self.first <= JOINED_RECORDS
            && self.records.len() + next.records.len() <= JOINED_BYTES;
        let joined =
            fits && next.first == self.head.len && join_records(&mut self.records, &next.records);
        if joined {
            self.head = next.head;
        }
        joined
    }

    /// True if `records` is a list of chunks. Such a row joins no other.
    pub(crate) fn is_chunked(&self) -> bool {
        ChunkList::is_marked(&self.records)
    }

    /// Decodes the records.
    pub(crate) fn decode(&self) -> Result<Vec<Record>, SqlFailure> {
        rows::decoded(&self.records, &self.invocation)
    }

    /// The columns `inv, first_seq, end_seq, commands, notified, at, finished, records`.
    pub(crate) fn into_cells(self) -> [SqlCell; 8] {
        [
            self.number.into(),
            self.first.into(),
            self.head.len.into(),
            self.head.commands.into(),
            self.head.notified.into(),
            self.head.at.0.into(),
            self.head.finished.into(),
            self.records.into(),
        ]
    }
}
