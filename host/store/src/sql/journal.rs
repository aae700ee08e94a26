//! A row of a journal: records that follow each other, and where the journal ends with them.

use segno_core::{
    delta::Append,
    id::PromiseId,
    invocation::{JournalHead, Record, encode_records, join_records},
};

use super::{Cell, Failure, rows};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct JournalRow {
    /// Whose journal it is.
    pub(crate) invocation: PromiseId,
    /// The number of that.
    pub(crate) number: i64,
    /// The place of the first record.
    pub(crate) first: u32,
    /// The end of the journal after the last one.
    pub(crate) head: JournalHead,
    /// The records, encoded.
    pub(crate) records: Vec<u8>,
}

/// Rows are joined up to this number of records and bytes: a journal is read in pages, and a reader
/// of a page reads whole rows.
const JOINED_RECORDS: u32 = 1_024;
const JOINED_BYTES: usize = 64 << 10;

impl JournalRow {
    /// What these commands appended to one journal, one after the other.
    pub(crate) fn of(number: i64, appends: &[(i64, &Append)]) -> Option<Self> {
        let (&(_, first), &(_, last)) = (appends.first()?, appends.last()?);
        let records = appends.iter().flat_map(|(_, append)| &append.records);
        Some(Self {
            invocation: first.invocation.clone(),
            number,
            first: first.before.len,
            head: last.after,
            records: encode_records(records),
        })
    }

    /// Adds a row that follows. Whether it could: a row stays of a size that is worth reading at
    /// once.
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

    /// Its records.
    pub(crate) fn decode(&self) -> Result<Vec<Record>, Failure> {
        rows::decoded(&self.records, &self.invocation)
    }

    /// `inv, first_seq, end_seq, commands, notified, at, finished, records`.
    pub(crate) fn into_cells(self) -> [Cell; 8] {
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
