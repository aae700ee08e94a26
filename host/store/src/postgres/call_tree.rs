//! Who made whom.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::id::PromiseId;
use sqlx::{Executor as _, postgres::PgRow};

use super::{
    fields::escape,
    reader::{Reader, failed, promise_row},
};
use crate::{
    CallTree, Child, Neighbours, Parent, StoreError, call_tree,
    sql::{self, AFTER_PROMISE, Fields as _, promise_columns, promise_tables},
};

/// Each list ends at its own limit, so that what is read depends on what is answered. Texts are compared as the tags have
/// them, letter by letter.
const CHILDREN: &str = concat!(
    "SELECT ",
    promise_columns!(
        "CASE WHEN octet_length(p.param) <= 65536 THEN p.param ELSE ''::bytea END",
        "CASE WHEN octet_length(p.value) <= 65536 THEN p.value END"
    ),
    r#", wanted.place - 1
       FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY wanted (id, named, after, place)
       JOIN promises me ON me.id = wanted.id
      CROSS JOIN LATERAL (
            (SELECT n FROM promises WHERE made_by = me.n AND n > wanted.after ORDER BY n LIMIT $4)
             UNION ALL
            (SELECT n FROM promises
              WHERE made_by IS NULL AND position('"parent":"' in tags) > 0
                AND md5(substring(tags from '"parent":("([^"\\]|\\.)*")')) = md5(wanted.named)
                AND n > wanted.after AND n <> me.n ORDER BY n LIMIT $4)) child
       JOIN promises p ON p.n = child.n "#,
    promise_tables!(),
);

/// Who names itself as its parent is no child of its own.
const COUNTS: &str = r#"
    SELECT wanted.place - 1, me.n,
           (SELECT count(*) FROM (SELECT FROM promises WHERE made_by = me.n LIMIT $3) AS made)
         + (SELECT count(*) FROM (SELECT FROM promises
             WHERE made_by IS NULL AND position('"parent":"' in tags) > 0
               AND md5(substring(tags from '"parent":("([^"\\]|\\.)*")')) = md5(wanted.named)
               AND n <> me.n LIMIT $3) AS named)
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY wanted (id, named, place)
      JOIN promises me ON me.id = wanted.id"#;

const AWAITS: &str = "
    SELECT wanted.place - 1, other.id
      FROM unnest($1::text[]) WITH ORDINALITY wanted (id, place) JOIN promises me ON me.id = wanted.id
     CROSS JOIN LATERAL (SELECT awaited FROM callbacks WHERE awaiter = me.n AND consumed = 0
                          ORDER BY awaited LIMIT $2) waits
      JOIN promises other ON other.n = waits.awaited
     ORDER BY other.n";

#[async_trait]
impl CallTree for Reader {
    async fn children(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError> {
        let failed = failed("read children");
        let ids: Vec<PromiseId> = parents.iter().map(|parent| parent.id.clone()).collect();
        let after: Vec<i64> = parents.iter().map(|parent| parent.after).collect();
        let query = sqlx::query(CHILDREN).bind(stored(&ids)).bind(named(&ids)).bind(after);
        let found = self.pool.fetch_all(query.bind(i64::from(each))).await.map_err(&failed)?;
        let child = |row: &PgRow| {
            let parent = place(row, AFTER_PROMISE)?;
            let number = row.int(0)?.unwrap_or_default();
            Ok(Child { parent, number, row: promise_row(row)? })
        };
        let children: Result<Vec<_>, _> = found.iter().map(child).collect();
        Ok(call_tree::in_order(children.map_err(&failed)?, each))
    }

    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<Neighbours>>, StoreError> {
        let failed = failed("read who is around");
        let mut found = BTreeMap::new();
        let counts = sqlx::query(COUNTS).bind(stored(ids)).bind(named(ids)).bind(i64::from(count));
        for row in &self.pool.fetch_all(counts).await.map_err(&failed)? {
            let number = row.int(1).map_err(&failed)?.unwrap_or_default();
            let children = row.int(2).map_err(&failed)?.unwrap_or_default();
            let children = u32::try_from(children).unwrap_or(u32::MAX).min(count);
            let neighbours = Neighbours { number, children, awaits: Vec::new() };
            found.insert(place(row, 0).map_err(&failed)?, neighbours);
        }
        let awaited = sqlx::query(AWAITS).bind(stored(ids)).bind(i64::from(awaits));
        for row in &self.pool.fetch_all(awaited).await.map_err(&failed)? {
            let id = sql::id(row, 1).map_err(&failed)?;
            found.entry(place(row, 0).map_err(&failed)?).or_default().awaits.push(id);
        }
        Ok((0..ids.len()).map(|place| found.remove(&place)).collect())
    }
}

fn place(row: &PgRow, column: usize) -> Result<usize, sqlx::Error> {
    let place = row.int(column)?.and_then(|place| usize::try_from(place).ok());
    place.ok_or(sqlx::Error::RowNotFound)
}

/// Ids as the tables have them.
fn stored(ids: &[PromiseId]) -> Vec<String> {
    ids.iter().map(|id| escape(id.as_str()).into_owned()).collect()
}

/// Ids as tags have them.
fn named(ids: &[PromiseId]) -> Vec<String> {
    ids.iter().map(|id| serde_json::Value::from(id.as_str()).to_string()).collect()
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 3] = [CHILDREN, COUNTS, AWAITS];
