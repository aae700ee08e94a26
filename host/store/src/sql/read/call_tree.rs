//! Reads of the call tree.

use std::collections::BTreeMap;

use segno_core::id::PromiseId;

use super::{DatabaseKind, DatabaseSession, Parameter, Select, promises::inline_row};
use crate::{
    ChildRow, ParentCursor, TreeNeighbours,
    sql::{self, AFTER_PROMISE, RowFields, SqlFailure, promise_columns, promise_tables},
};

/// The children of given promises, also of promises that are not in this database. Every list has
/// its own limit, so that the rows read depend on the rows returned. PostgreSQL compares texts in their JSON form, character by character.
macro_rules! children {
    ($order:literal) => {
        Select::differing(
    concat!(
        "WITH parents (place, n, id, after) AS MATERIALIZED (
         SELECT wanted.key, me.n, json_extract(wanted.value, '$[0]'), json_extract(wanted.value, '$[1]')
           FROM json_each($1) wanted LEFT JOIN promises me ON me.id = json_extract(wanted.value, '$[0]'))
     SELECT ",
        promise_columns!(
            "CASE WHEN coalesce(p.param_bytes, length(p.param)) <= 65536 THEN p.param ELSE x'' END",
            "CASE WHEN coalesce(p.value_bytes, length(p.value)) <= 65536 THEN p.value END"
        ),
        ", parents.place
       FROM parents CROSS JOIN promises p ON p.n IN (
            SELECT n FROM (SELECT n FROM promises WHERE made_by = parents.n AND n > parents.after ORDER BY n ",
$order,
" LIMIT $2)
             UNION ALL
            SELECT n FROM (SELECT n FROM promises
                            WHERE made_by IS NULL AND json_extract(tags, '$.parent') = parents.id
                              AND n > parents.after AND n IS NOT parents.n ORDER BY n ",
$order,
" LIMIT $2)) ",
        promise_tables!(),
    ),
    concat!(
        "SELECT ",
        promise_columns!(
            "CASE WHEN coalesce(p.param_bytes, octet_length(p.param)) <= 65536 THEN p.param ELSE ''::bytea END",
            "CASE WHEN coalesce(p.value_bytes, octet_length(p.value)) <= 65536 THEN p.value END"
        ),
        r#", wanted.place - 1
       FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY wanted (id, named, after, place)
       LEFT JOIN promises me ON me.id = wanted.id
      CROSS JOIN LATERAL (
            (SELECT n FROM promises WHERE made_by = me.n AND n > wanted.after ORDER BY n "#,
$order,
r#" LIMIT $4)
             UNION ALL
            (SELECT n FROM promises
              WHERE made_by IS NULL AND position('"parent":"' in tags) > 0
                AND md5(substring(tags from '"parent":("([^"\\]|\\.)*")')) = md5(wanted.named)
                AND n > wanted.after AND n <> coalesce(me.n, 0) ORDER BY n "#,
$order,
r#" LIMIT $4)) child
       JOIN promises p ON p.n = child.n "#,
        promise_tables!(),
    ),
        )
    };
}

const CHILDREN: Select = children!("");

const LATEST: Select = children!("DESC");

/// Counts children. A promise that names itself as its parent is not its own child.
const COUNTS: Select = Select::differing(
    "
    SELECT wanted.key, me.n,
           (SELECT count(*) FROM (SELECT 1 FROM promises WHERE made_by = me.n LIMIT $2))
         + (SELECT count(*) FROM (SELECT 1 FROM promises
             WHERE made_by IS NULL AND json_extract(tags, '$.parent') = wanted.value AND n IS NOT me.n LIMIT $2))
      FROM json_each($1) wanted LEFT JOIN promises me ON me.id = wanted.value",
    r#"
    SELECT wanted.place - 1, me.n,
           (SELECT count(*) FROM (SELECT FROM promises WHERE made_by = me.n LIMIT $2) AS made)
         + (SELECT count(*) FROM (SELECT FROM promises
             WHERE made_by IS NULL AND position('"parent":"' in tags) > 0
               AND md5(substring(tags from '"parent":("([^"\\]|\\.)*")')) = md5(wanted.named)
               AND n <> coalesce(me.n, 0) LIMIT $2) AS named)
      FROM unnest($1::text[], $3::text[]) WITH ORDINALITY wanted (id, named, place)
      LEFT JOIN promises me ON me.id = wanted.id"#,
);

const AWAITS: Select = Select::differing(
    "
    SELECT wanted.key, other.id FROM json_each($1) wanted CROSS JOIN promises me ON me.id = wanted.value
     CROSS JOIN promises other ON other.n IN (
           SELECT awaited FROM callbacks WHERE awaiter = me.n AND consumed = 0 ORDER BY awaited LIMIT $2)
     ORDER BY other.n",
    "
    SELECT wanted.place - 1, waits.id
      FROM unnest($1::text[]) WITH ORDINALITY wanted (id, place) JOIN promises me ON me.id = wanted.id
     CROSS JOIN LATERAL (
            (SELECT other.id, other.n FROM callbacks JOIN promises other ON other.n = awaited
              WHERE awaiter = me.n AND consumed = 0 ORDER BY awaited LIMIT $2)
             UNION ALL
            (SELECT awaited, NULL FROM crossings WHERE awaiter = me.id AND consumed = 0
              ORDER BY awaited LIMIT $2)
             ORDER BY 2, 1 LIMIT $2) waits
     ORDER BY waits.n, waits.id",
);

/// The first or latest children of each parent, at most `each` from either list.
pub(super) async fn children<S: DatabaseSession>(
    session: &mut S,
    parents: &[ParentCursor],
    each: u32,
    are_latest: bool,
) -> Result<Vec<ChildRow>, SqlFailure> {
    let children = if are_latest { &LATEST } else { &CHILDREN };
    let found = match S::KIND {
        DatabaseKind::Sqlite => {
            let wanted = parents.iter().map(|parent| (parent.id.as_str(), parent.after)).collect();
            session.all(children, &[Parameter::Pairs(wanted), each.into()]).await?
        }
        DatabaseKind::Postgres => {
            let ids = || parents.iter().map(|parent| &parent.id);
            let named = named(ids());
            let after: Vec<i64> = parents.iter().map(|parent| parent.after).collect();
            let parameters =
                [Parameter::ids(ids()), texts(&named), Parameter::Numbers(&after), each.into()];
            session.all(children, &parameters).await?
        }
    };
    let child = |row: &S::Row| {
        let number = row.int(0)?.unwrap_or_default();
        Ok(ChildRow { parent: place(row, AFTER_PROMISE)?, number, row: inline_row(row)? })
    };
    found.iter().map(child).collect()
}

/// The neighbours of each promise.
pub(super) async fn neighbours<S: DatabaseSession>(
    session: &mut S,
    ids: &[PromiseId],
    count: u32,
    awaits: u32,
) -> Result<Vec<Option<TreeNeighbours>>, SqlFailure> {
    let mut found: BTreeMap<usize, TreeNeighbours> = BTreeMap::new();
    let named = named(ids);
    let mut parameters = vec![Parameter::ids(ids), count.into()];
    if S::KIND == DatabaseKind::Postgres {
        parameters.push(texts(&named));
    }
    for row in &session.all(&COUNTS, &parameters).await? {
        let number = row.int(1)?.unwrap_or_default();
        let children = row.int(2)?.unwrap_or_default();
        let children = u32::try_from(children).unwrap_or(u32::MAX).min(count);
        let neighbours = TreeNeighbours { number, children, awaits: Vec::new() };
        found.extend(neighbours.is_found().then_some((place(row, 0)?, neighbours)));
    }
    for row in &session.all(&AWAITS, &[Parameter::ids(ids), awaits.into()]).await? {
        let id = sql::id(row, 1)?;
        found.entry(place(row, 0)?).or_default().awaits.push(id);
    }
    Ok((0..ids.len()).map(|place| found.remove(&place)).collect())
}

/// Index of a promise in the request.
fn place(row: &impl RowFields, column: usize) -> Result<usize, SqlFailure> {
    let place = row.int(column)?.and_then(|place| usize::try_from(place).ok());
    place.ok_or(SqlFailure::NoRow)
}

/// Ids in the JSON form that tags have.
fn named<'a>(ids: impl IntoIterator<Item = &'a PromiseId>) -> Vec<String> {
    ids.into_iter().map(|id| serde_json::Value::from(id.as_str()).to_string()).collect()
}

fn texts(texts: &[String]) -> Parameter<'_> {
    Parameter::Texts(texts.iter().map(String::as_str).collect())
}

/// The statements, for tests of query plans; the children come first.
#[cfg(test)]
pub(crate) static STATEMENTS: &[Select] = &[CHILDREN, COUNTS, AWAITS, LATEST];
