//! The data of streams.

use segno_core::{
    delta::Delta,
    id::{PromiseId, StreamId},
    stream::StreamChunk,
};

use super::{
    ColumnKind::{Blob, Int, Text},
    ConflictRule, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlFailure,
    rows::{id, needed, number, small},
};

pub(crate) const STREAM_CHUNKS: SqlTable = SqlTable {
    name: "stream_chunks",
    columns: "stream, position, count, records, writer, data",
    kinds: &[Text, Int, Int, Int, Text, Blob],
    key: 2,
    again: ConflictRule::Refused,
};

/// The changes to the data of streams, in the order of execution.
#[derive(Debug, Default)]
pub(crate) struct StreamDataRows {
    /// Streams whose data is deleted.
    pub(crate) cleared: Vec<CellRow>,
    /// Rows to insert.
    pub(crate) put: Vec<CellRow>,
}

impl StreamDataRows {
    /// The changes that `delta` makes.
    pub(crate) fn of(delta: &Delta) -> Self {
        let cleared = delta.cleared_streams.iter().map(|id| vec![id.as_str().into()]);
        Self { cleared: cleared.collect(), put: delta.stream_chunks.iter().map(cells).collect() }
    }
}

fn cells(chunk: &StreamChunk) -> CellRow {
    vec![
        chunk.stream.as_str().into(),
        chunk.position.into(),
        chunk.count.into(),
        chunk.records.into(),
        chunk.writer.as_ref().map(PromiseId::as_str).into(),
        chunk.data.as_slice().into(),
    ]
}

/// Decodes a row with all columns.
pub(crate) fn stream_chunk(row: &impl RowFields) -> Result<StreamChunk, SqlFailure> {
    let stream = StreamId::from(&*needed(row.text(0)?, &"stream_chunks", "stream")?);
    Ok(StreamChunk {
        position: number(row, 1, &stream, "position")?.cast_unsigned(),
        count: number(row, 2, &stream, "count")?.cast_unsigned(),
        records: small(row, 3, &stream, "records")?,
        writer: row.text(4)?.map(|_| id(row, 4)).transpose()?,
        data: needed(row.blob(5)?, &stream, "data")?.into(),
        stream,
    })
}
