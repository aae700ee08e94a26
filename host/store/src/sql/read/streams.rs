//! Reads streams and their data.

use segno_core::{
    id::{PromiseId, StreamId},
    stream::{DurableStream, StreamChunk},
};

use super::{DatabaseSession, Select};
use crate::sql::{SqlFailure, rows, table};

const STREAM: Select = Select::common("SELECT detail FROM streams WHERE id = $1");

const OF_EXECUTION: Select =
    Select::common("SELECT detail FROM streams WHERE owner = $1 ORDER BY id");

/// The chunk that contains a position, and those after it.
const CHUNKS: Select = Select::common(
    "
    SELECT stream, position, count, records, writer, data FROM stream_chunks
     WHERE stream = $1 AND position >= coalesce((
               SELECT max(position) FROM stream_chunks WHERE stream = $1 AND position <= $2), 0)
     ORDER BY position LIMIT $3",
);

const KEPT: Select = Select::differing(
    "SELECT coalesce(sum(count), 0) FROM stream_chunks WHERE stream = $1 AND writer = $2",
    "SELECT coalesce(sum(count), 0)::bigint FROM stream_chunks WHERE stream = $1 AND writer = $2",
);

/// Number of chunks that one statement reads.
const PAGE: i64 = 64;

pub(super) async fn stream(
    session: &mut impl DatabaseSession,
    id: &StreamId,
) -> Result<Option<DurableStream>, SqlFailure> {
    let found = session.first(&STREAM, &[id.as_str().into()]).await?;
    found.map(|row| table::stream(&row, 0)).transpose()
}

/// The streams of an execution, by id.
pub(super) async fn of_execution(
    session: &mut impl DatabaseSession,
    owner: &PromiseId,
) -> Result<Vec<DurableStream>, SqlFailure> {
    let found = session.all(&OF_EXECUTION, &[owner.as_str().into()]).await?;
    found.iter().map(|row| table::stream(row, 0)).collect()
}

/// The data of a stream from a position on: whole chunks, the first cut, until they have
/// `bytes_max` bytes, and at least one.
pub(super) async fn data(
    session: &mut impl DatabaseSession,
    id: &StreamId,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<StreamChunk>, SqlFailure> {
    let mut read: Vec<StreamChunk> = Vec::new();
    let (mut bytes, mut position) = (0, from);
    loop {
        let parameters = [id.as_str().into(), position.cast_signed().into(), PAGE.into()];
        let found = session.all(&CHUNKS, &parameters).await?;
        let is_last = (found.len() as i64) < PAGE;
        for row in &found {
            let Some(chunk) = table::stream_chunk(row)?.cut(position, u64::MAX) else { continue };
            if bytes > 0 && bytes + chunk.data.len() > bytes_max {
                return Ok(read);
            }
            bytes += chunk.data.len();
            position = chunk.end();
            read.push(chunk);
        }
        if is_last {
            return Ok(read);
        }
    }
}

/// Number of positions that an activity has appended.
pub(super) async fn kept(
    session: &mut impl DatabaseSession,
    id: &StreamId,
    writer: &PromiseId,
) -> Result<u64, SqlFailure> {
    let found = session.one(&KEPT, &[id.as_str().into(), writer.as_str().into()]).await?;
    Ok(rows::number(&found, 0, id, "count")?.cast_unsigned())
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[STREAM, OF_EXECUTION, CHUNKS, KEPT];
