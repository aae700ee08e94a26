//! Encoding of records.
//!
//! ```text
//! batch = format: u8 (1), then records one after another, each in postcard
//! ```
//! A stored journal stays readable forever: a new format gets a new number, and golden files verify
//! the old ones.

use super::Record;

/// The current format.
pub const FORMAT: u8 = 1;

/// Error: the bytes are not a batch of records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There is no format number.
    #[error("the journal bytes are empty")]
    Empty,
    /// The batch was written by a newer version of this program.
    #[error(
        "journal format {0} is not known here (known: {FORMAT}); a newer host wrote it, so upgrade this one"
    )]
    UnknownFormat(u8),
    /// The bytes are damaged.
    #[error("the journal bytes are damaged {remaining} bytes before their end: {source}")]
    Damaged {
        /// Number of bytes that could not be decoded.
        remaining: usize,
        /// Error of the decoder.
        source: postcard::Error,
    },
}

/// Encodes a batch of records.
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

/// Appends a batch to the one it follows, without decoding either. Returns false, and changes
/// nothing, unless both have the current format.
pub fn join_records(batch: &mut Vec<u8>, next: &[u8]) -> bool {
    match (batch.first(), next.split_first()) {
        (Some(&FORMAT), Some((&FORMAT, records))) => {
            batch.extend_from_slice(records);
            true
        }
        _ => false,
    }
}

/// Decodes a batch of records.
///
/// # Errors
/// [`CodecError`]: the bytes are not a batch.
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
