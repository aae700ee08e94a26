//! What several executions go on from, read at once.

use segno_core::id::PromiseId;
use sqlx::{Executor as _, Row as _};

use super::reader::{Reader, failed};
use crate::{History, StoreError, sql};

/// Rows of journals by the place of their invocation among those asked for, then the counts of lines.
const HISTORIES: &str = "
    SELECT wanted.key, records, NULL
      FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN journal ON inv = promises.n
     UNION ALL
    SELECT wanted.key, NULL, count
      FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN logs ON inv = promises.n";

/// The same of journals of which not all is in one place: all that is ahead is looked at once.
const HISTORIES_UNMERGED: &str = "
    SELECT wanted.key, records, NULL
      FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN journal ON inv = promises.n
     UNION ALL
    SELECT (SELECT wanted.key FROM json_each(?1) wanted JOIN promises ON promises.id = wanted.value
             WHERE promises.n = ahead.inv), records, NULL
      FROM journal_ahead ahead
     WHERE inv IN (SELECT n FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value)
     UNION ALL
    SELECT wanted.key, NULL, count
      FROM json_each(?1) wanted CROSS JOIN promises ON promises.id = wanted.value
     CROSS JOIN logs ON inv = promises.n";

impl Reader {
    pub(super) async fn histories(
        &self,
        of: &[(PromiseId, u32)],
    ) -> Result<Vec<History>, StoreError> {
        let name = "read journals";
        let ids: Vec<&str> = of.iter().map(|(id, _)| id.as_str()).collect();
        let ids = serde_json::to_string(&ids).expect("texts are JSON");
        let unmerged = self.may_be_unmerged(of.iter().map(|(id, _)| id));
        let statement = if unmerged { HISTORIES_UNMERGED } else { HISTORIES };
        let found = self.pool.fetch_all(sqlx::query(statement).bind(ids)).await;
        let mut histories = vec![History::default(); of.len()];
        for row in &found.map_err(failed(name))? {
            let place: u32 = row.try_get(0).map_err(failed(name))?;
            let place = place as usize;
            match row.try_get::<Option<i64>, _>(2).map_err(failed(name))? {
                Some(lines) => histories[place].lines += u32::try_from(lines).unwrap_or(u32::MAX),
                None => {
                    let records = sql::records(row, 1, &of[place].0).map_err(failed(name))?;
                    histories[place].records.extend(records);
                }
            }
        }
        histories.iter_mut().for_each(History::sort);
        Ok(histories)
    }
}

/// For the tests of plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 2] = [HISTORIES, HISTORIES_UNMERGED];
