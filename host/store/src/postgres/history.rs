//! What several executions go on from, read at once.

use std::collections::HashMap;

use segno_core::id::PromiseId;
use sqlx::Executor as _;

use super::{
    fields::escape,
    reader::{Reader, failed},
};
use crate::{
    History, StoreError,
    sql::{self, Fields as _},
};

/// Rows of journals, then the counts of lines. Written so that there is one way only to find them: by the indexes.
const HISTORIES: &str = "
    SELECT (SELECT id FROM promises WHERE n = inv), records, NULL::bigint FROM journal
     WHERE inv = ANY (ARRAY (SELECT n FROM promises WHERE id = ANY($1::text[])))
     UNION ALL
    SELECT (SELECT id FROM promises WHERE n = inv), NULL, count FROM logs
     WHERE inv = ANY (ARRAY (SELECT n FROM promises WHERE id = ANY($1::text[])))";

impl Reader {
    pub(super) async fn histories(
        &self,
        of: &[(PromiseId, u32)],
    ) -> Result<Vec<History>, StoreError> {
        let name = "read journals";
        let ids: Vec<_> = of.iter().map(|(id, _)| escape(id.as_str()).into_owned()).collect();
        let found = self.pool.fetch_all(sqlx::query(HISTORIES).bind(ids)).await;
        let mut by_id: HashMap<PromiseId, History> = HashMap::new();
        for row in &found.map_err(failed(name))? {
            let id = sql::id(row, 0).map_err(failed(name))?;
            let lines = row.int(2).map_err(failed(name))?;
            let history = by_id.entry(id.clone()).or_default();
            match lines {
                Some(lines) => history.lines += u32::try_from(lines).unwrap_or(u32::MAX),
                None => {
                    history.records.extend(sql::records(row, 1, &id).map_err(failed(name))?);
                }
            }
        }
        by_id.values_mut().for_each(History::sort);
        Ok(of.iter().map(|(id, _)| by_id.get(id).cloned().unwrap_or_default()).collect())
    }
}

/// For the tests of plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 1] = [HISTORIES];
