//! Reads the state of objects, their queues, and lists of objects.

use std::collections::BTreeMap;

use segno_core::{
    id::ObjectId,
    value::{Payload, Text},
};

use super::{
    BuiltStatement, DatabaseKind, DatabaseSession, Parameter, Select, large_values::chunks_of,
    list::end_of_prefix,
};
use crate::{
    ObjectFilter, ObjectRow, Page, StateSize, limits,
    sql::{RowFields, SqlFailure, rows, table},
};

const STATE: Select = Select::differing(
    "
    SELECT object, name, kind, object_state.value, bytes FROM json_each($2) wanted
      JOIN object_state ON object_state.object = $1 AND object_state.name = wanted.value",
    "
    SELECT object, name, kind, value, bytes FROM object_state WHERE object = $1 AND name = ANY($2::text[])",
);

/// Returns a single row without a name if the state is too large. One statement, so that everything
/// is read from one snapshot.
const WHOLE: Select = Select::differing(
    "
    WITH of_object AS (SELECT object, name, kind, value, bytes FROM object_state WHERE object = $1),
         small AS (SELECT coalesce(sum(length(CAST(name AS BLOB)) + coalesce(bytes, length(value))), 0) <= $2 AS fits FROM of_object)
    SELECT object, name, kind, value, bytes FROM small JOIN of_object ON fits
     UNION ALL SELECT $1, NULL, NULL, NULL, NULL FROM small WHERE NOT fits",
    "
    WITH of_object AS (SELECT object, name, kind, value, bytes FROM object_state WHERE object = $1),
         small AS (SELECT coalesce(sum(octet_length(name) + coalesce(bytes, octet_length(value))), 0) <= $2 AS fits FROM of_object)
    SELECT object, name, kind, value, bytes FROM small JOIN of_object ON fits
     UNION ALL SELECT $1, NULL, NULL, NULL, NULL FROM small WHERE NOT fits",
);

const SIZES: Select = Select::differing(
    "SELECT name, coalesce(bytes, length(value)) FROM object_state WHERE object = $1 ORDER BY name",
    "SELECT name, coalesce(bytes, octet_length(value)) FROM object_state WHERE object = $1 ORDER BY name",
);

/// The queues of these objects.
pub(super) const LINES: Select = Select::differing(
    "SELECT object, holder, tail, run FROM json_each($1) wanted JOIN lines ON lines.object = wanted.value",
    "SELECT object, holder, tail, run FROM lines WHERE object = ANY($1::text[])",
);

const SUMS: Select = Select::differing(
    "
    SELECT object, count(*), sum(coalesce(bytes, length(object_state.value))) FROM json_each($1) wanted
      JOIN object_state ON object_state.object = wanted.value GROUP BY object",
    "
    SELECT object, count(*), sum(coalesce(bytes, octet_length(value)))::bigint FROM object_state
     WHERE object = ANY($1::text[]) GROUP BY object",
);

/// The requested entries of an object's state; missing entries are omitted.
pub(super) async fn state(
    session: &mut impl DatabaseSession,
    object: &ObjectId,
    names: &[Text],
) -> Result<BTreeMap<Text, Payload>, SqlFailure> {
    let wanted = Parameter::Texts(names.iter().map(Text::as_str).collect());
    let found = session.all(&STATE, &[object.as_str().into(), wanted]).await?;
    entries(session, &found).await
}

/// All state of an object; `None` if it exceeds `bytes_max` bytes.
pub(super) async fn whole(
    session: &mut impl DatabaseSession,
    object: &ObjectId,
    bytes_max: u64,
) -> Result<Option<BTreeMap<Text, Payload>>, SqlFailure> {
    let most = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    let found = session.all(&WHOLE, &[object.as_str().into(), most.into()]).await?;
    if let [only] = found.as_slice()
        && only.text(1)?.is_none()
    {
        return Ok(None);
    }
    entries(session, &found).await.map(Some)
}

/// Decodes entries, with the chunks of the large ones.
async fn entries(
    session: &mut impl DatabaseSession,
    found: &[impl RowFields],
) -> Result<BTreeMap<Text, Payload>, SqlFailure> {
    let lists = found.iter().map(table::state_list).collect::<Result<Vec<_>, _>>()?;
    let chunks = chunks_of(session, lists.iter().flatten()).await?;
    let entry = |row| table::state(row, &chunks).map(|((_, name), value)| (name, value));
    found.iter().map(entry).collect()
}

/// The names in an object's state, with the bytes of each value.
pub(super) async fn sizes(
    session: &mut impl DatabaseSession,
    object: &ObjectId,
) -> Result<Vec<StateSize>, SqlFailure> {
    let found = session.all(&SIZES, &[object.as_str().into()]).await?;
    let size = |row| {
        let bytes = rows::number(row, 1, object, "value")?.cast_unsigned();
        Ok(StateSize { name: rows::text(row, 0)?, bytes })
    };
    found.iter().map(size).collect()
}

/// A page of objects.
pub(super) async fn page<S: DatabaseSession>(
    session: &mut S,
    filter: &ObjectFilter,
) -> Result<Page<ObjectRow, ObjectId>, SqlFailure> {
    let limit = limits::page_limit(filter.limit) as usize;
    let found = session.all_of(ids(S::KIND, filter, limit + 1)).await?;
    let objects: Vec<_> = found.iter().map(|row| rows::text(row, 0)).collect::<Result<_, _>>()?;
    let wanted = || [Parameter::Texts(objects.iter().map(Text::as_str).collect())];
    let mut lines = BTreeMap::new();
    for row in &session.all(&LINES, &wanted()).await? {
        lines.extend([table::line(row)?]);
    }
    let mut sums = BTreeMap::new();
    for row in &session.all(&SUMS, &wanted()).await? {
        let object = ObjectId::from(rows::text(row, 0)?.as_str());
        let names = rows::number(row, 1, &object, "count")?.cast_unsigned();
        let bytes = rows::number(row, 2, &object, "sum")?.cast_unsigned();
        sums.insert(object, (names, bytes));
    }
    let row = |object: &Text| {
        let object = ObjectId::from(object.as_str());
        let (names, bytes) = sums.get(&object).copied().unwrap_or_default();
        ObjectRow { line: lines.remove(&object), object, names, bytes }
    };
    Ok(Page::of_objects(objects.iter().map(row).collect(), limit))
}

/// Selects the ids for a page of objects: those with a queue, and those with state.
fn ids(kind: DatabaseKind, filter: &ObjectFilter, limit: usize) -> BuiltStatement {
    let mut query = BuiltStatement::new("SELECT object FROM (SELECT object FROM lines WHERE ");
    bounds(&mut query, kind, filter);
    query.push(" ORDER BY object LIMIT ").bind(limit as i64);
    query.push(
        ") having_lines UNION SELECT object FROM (SELECT DISTINCT object FROM object_state WHERE ",
    );
    bounds(&mut query, kind, filter);
    query.push(" ORDER BY object LIMIT ").bind(limit as i64);
    query.push(") having_state ORDER BY object LIMIT ").bind(limit as i64);
    query
}

fn bounds(query: &mut BuiltStatement, kind: DatabaseKind, filter: &ObjectFilter) {
    let after = filter.after.as_ref().map(ObjectId::as_str).unwrap_or_default();
    query.push("object > ").bind(after.to_owned());
    if let Some(prefix) = &filter.prefix {
        query.push(" AND object >= ").bind(prefix.clone());
        if let Some(end) = end_of_prefix(kind, prefix) {
            query.push(" AND object < ").bind(end);
        }
    }
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[STATE, SIZES, LINES, SUMS];
