//! Reads the chunks of large values.

use segno_core::id::Digest;

use super::{DatabaseSession, Parameter, Select};
use crate::sql::{
    RowFields, SqlFailure,
    large_value::{ChunkList, ChunkSet},
    records_list,
};

const CHUNKS: Select = Select::differing(
    "SELECT digest, bytes, data FROM json_each($1) wanted JOIN value_chunks ON digest = unhex(wanted.value)",
    "SELECT digest, bytes, data FROM unnest($1::text[]) AS wanted (hex)
       JOIN value_chunks ON digest = decode(wanted.hex, 'hex')",
);

/// Chunks that nothing uses, uses without an owner, and the difference between the numbers of large
/// entries of objects and of their owners.
const LEFT_OVER: Select = Select::common(
    "
    SELECT (SELECT count(*) FROM value_chunks
             WHERE NOT EXISTS (SELECT 1 FROM value_uses WHERE value_uses.digest = value_chunks.digest)),
           (SELECT count(*) FROM value_uses
             WHERE substr(owner, 1, 1) <> 's'
               AND NOT EXISTS (SELECT 1 FROM promises WHERE n = CAST(substr(owner, 2) AS bigint))),
           (SELECT count(*) FROM object_state WHERE bytes IS NOT NULL)
         - (SELECT count(DISTINCT owner) FROM value_uses WHERE substr(owner, 1, 1) = 's')",
);

/// Chunks that should have been removed, and large entries of objects without chunks.
pub(super) async fn left_over(
    session: &mut impl DatabaseSession,
) -> Result<Vec<String>, SqlFailure> {
    let row = session.one(&LEFT_OVER, &[]).await?;
    let text = |column, text: &str| {
        let count = row.int(column)?.unwrap_or_default();
        Ok((count != 0).then(|| format!("{count} {text}")))
    };
    let found: Result<Vec<_>, SqlFailure> = [
        text(0, "chunks of values are not used by any value, and take space"),
        text(1, "uses of chunks belong to executions that do not exist"),
        text(2, "is the difference between large entries of objects and those with chunks"),
    ]
    .into_iter()
    .collect();
    Ok(found?.into_iter().flatten().collect())
}

/// The chunks of these lists.
pub(super) async fn chunks_of<'a>(
    session: &mut impl DatabaseSession,
    lists: impl IntoIterator<Item = &'a ChunkList>,
) -> Result<ChunkSet, SqlFailure> {
    chunks(session, &ChunkSet::wanted(lists)).await
}

/// The chunks with these digests.
pub(crate) async fn chunks(
    session: &mut impl DatabaseSession,
    wanted: &[Digest],
) -> Result<ChunkSet, SqlFailure> {
    let mut chunks = ChunkSet::default();
    if wanted.is_empty() {
        return Ok(chunks);
    }
    let wanted: Vec<_> = wanted.iter().map(ToString::to_string).collect();
    let wanted = Parameter::Texts(wanted.iter().map(String::as_str).collect());
    for row in &session.all(&CHUNKS, &[wanted]).await? {
        chunks.add(row)?;
    }
    Ok(chunks)
}

/// The chunks of the journal rows `found`, whose records are in column `column`.
pub(crate) async fn chunks_of_records(
    session: &mut impl DatabaseSession,
    found: &[impl RowFields],
    column: usize,
) -> Result<ChunkSet, SqlFailure> {
    let lists = found.iter().map(|row| records_list(row, column));
    let lists: Vec<_> = lists.collect::<Result<_, _>>()?;
    chunks_of(session, lists.iter().flatten()).await
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[CHUNKS];
