//! Records as bytes.
//!
//! ```text
//! batch = format: u8 (1), then records one after another, each in postcard
//! ```
//! A stored journal stays readable for ever: a new format gets a new number, and golden files keep
//! the old ones honest.

use super::Record;

/// The format written today.
pub const FORMAT: u8 = 1;

/// Bytes that are not a batch of records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There is not even a format number.
    #[error("the journal bytes are empty")]
    Empty,
    /// Written by a newer version of this program.
    #[error(
        "journal format {0} is not known here (known: {FORMAT}); a newer host wrote it, so upgrade this one"
    )]
    UnknownFormat(u8),
    /// Damaged.
    #[error("the journal bytes are damaged {remaining} bytes before their end: {source}")]
    Damaged {
        /// Bytes that could not be read.
        remaining: usize,
        /// What is wrong with them.
        source: postcard::Error,
    },
}

/// Writes a batch of records.
pub fn encode_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<u8> {
    let records = records.into_iter();
    let mut encoded = Vec::with_capacity(1 + 64 * records.size_hint().0.max(1));
    encoded.push(FORMAT);
    for record in records {
        encoded =
            postcard::to_extend(record, encoded).expect("a record holds nothing postcard refuses");
    }
    encoded
}

/// Adds a batch to one that it follows, without reading either. Whether it could: both have to be
/// of today's format, and nothing is changed otherwise.
pub fn join_records(batch: &mut Vec<u8>, next: &[u8]) -> bool {
    match (batch.first(), next.split_first()) {
        (Some(&FORMAT), Some((&FORMAT, records))) => {
            batch.extend_from_slice(records);
            true
        }
        _ => false,
    }
}

/// Reads a batch of records.
///
/// # Errors
/// [`CodecError`] says why the bytes are not a batch.
pub fn decode_records(bytes: &[u8]) -> Result<Vec<Record>, CodecError> {
    let (&format, mut rest) = bytes.split_first().ok_or(CodecError::Empty)?;
    if format != FORMAT {
        return Err(CodecError::UnknownFormat(format));
    }
    let mut records = Vec::new();
    while !rest.is_empty() {
        let remaining = rest.len();
        let (record, after) = postcard::take_from_bytes(rest)
            .map_err(|source| CodecError::Damaged { remaining, source })?;
        records.push(record);
        rest = after;
    }
    Ok(records)
}
