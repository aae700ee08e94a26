//! Who made whom.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::id::PromiseId;
use sqlx::{Executor as _, Row as _};

use super::reader::{Reader, failed, promise_row};
use crate::{
    CallTree, Child, Neighbours, Parent, StoreError, call_tree,
    sql::{AFTER_PROMISE, promise_columns, promise_tables},
};

/// Each list ends at its own limit, so that what is read depends on what is answered.
const CHILDREN: &str = concat!(
    "WITH parents (place, n, id, after) AS MATERIALIZED (
         SELECT wanted.key, me.n, json_extract(wanted.value, '$[0]'), json_extract(wanted.value, '$[1]')
           FROM json_each(?1) wanted JOIN promises me ON me.id = json_extract(wanted.value, '$[0]'))
     SELECT ",
    promise_columns!(
        "CASE WHEN length(p.param) <= 65536 THEN p.param ELSE x'' END",
        "CASE WHEN length(p.value) <= 65536 THEN p.value END"
    ),
    ", parents.place
       FROM parents CROSS JOIN promises p ON p.n IN (
            SELECT n FROM (SELECT n FROM promises WHERE made_by = parents.n AND n > parents.after ORDER BY n LIMIT ?2)
             UNION ALL
            SELECT n FROM (SELECT n FROM promises
                            WHERE made_by IS NULL AND json_extract(tags, '$.parent') = parents.id
                              AND n > parents.after AND n <> parents.n ORDER BY n LIMIT ?2)) ",
    promise_tables!(),
);

/// Who names itself as its parent is no child of its own.
const COUNTS: &str = "
    SELECT wanted.key, me.n,
           (SELECT count(*) FROM (SELECT 1 FROM promises WHERE made_by = me.n LIMIT ?2))
         + (SELECT count(*) FROM (SELECT 1 FROM promises
             WHERE made_by IS NULL AND json_extract(tags, '$.parent') = wanted.value AND n <> me.n LIMIT ?2))
      FROM json_each(?1) wanted JOIN promises me ON me.id = wanted.value";

const AWAITS: &str = "
    SELECT wanted.key, other.id FROM json_each(?1) wanted CROSS JOIN promises me ON me.id = wanted.value
     CROSS JOIN promises other ON other.n IN (
           SELECT awaited FROM callbacks WHERE awaiter = me.n AND consumed = 0 ORDER BY awaited LIMIT ?2)
     ORDER BY other.n";

#[async_trait]
impl CallTree for Reader {
    async fn children(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError> {
        let failed = failed("read children");
        let wanted: Vec<_> = parents.iter().map(|parent| (&parent.id, parent.after)).collect();
        let wanted = serde_json::to_string(&wanted).expect("texts and numbers are JSON");
        let query = sqlx::query(CHILDREN).bind(wanted).bind(each);
        let mut children = Vec::new();
        for row in &self.pool.fetch_all(query).await.map_err(&failed)? {
            let place: u32 = row.try_get(AFTER_PROMISE).map_err(&failed)?;
            let number = row.try_get(0).map_err(&failed)?;
            let row = promise_row(row).map_err(&failed)?;
            children.push(Child { parent: place as usize, number, row });
        }
        Ok(call_tree::in_order(children, each))
    }

    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<Neighbours>>, StoreError> {
        let failed = failed("read who is around");
        let wanted = serde_json::to_string(ids).expect("texts are JSON");
        let mut found = BTreeMap::new();
        let counts = sqlx::query(COUNTS).bind(wanted.as_str()).bind(count);
        for row in &self.pool.fetch_all(counts).await.map_err(&failed)? {
            let place: u32 = row.try_get(0).map_err(&failed)?;
            let number = row.try_get(1).map_err(&failed)?;
            let children = row.try_get::<u32, _>(2).map_err(&failed)?.min(count);
            found.insert(place as usize, Neighbours { number, children, awaits: Vec::new() });
        }
        let awaited = sqlx::query(AWAITS).bind(wanted.as_str()).bind(awaits);
        for row in &self.pool.fetch_all(awaited).await.map_err(&failed)? {
            let place: u32 = row.try_get(0).map_err(&failed)?;
            let id = PromiseId::new(row.try_get::<&str, _>(1).map_err(&failed)?);
            found.entry(place as usize).or_default().awaits.push(id);
        }
        Ok((0..ids.len()).map(|place| found.remove(&place)).collect())
    }
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 3] = [CHILDREN, COUNTS, AWAITS];
