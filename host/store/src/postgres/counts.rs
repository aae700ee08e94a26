//! How much there is of what figures show. Each count walks an index of just what it counts.

use segno_core::promise::MessageKind;
use sqlx::{Executor as _, Row as _};

use super::reader::{Reader, failed};
use crate::{Counts, StoreError};

const TASKS: &str = "
    SELECT (SELECT count(*) FROM tasks WHERE state = 2),
           (SELECT count(*) FROM tasks WHERE state = 4),
           (SELECT count(*) FROM tasks WHERE state = 1 AND hosted = 1 AND offered = 1)";

const OUTBOX: &str = "SELECT count(*) FROM outbox WHERE kind = $1";

impl Reader {
    pub(super) async fn counts(&self) -> Result<Counts, StoreError> {
        let name = "count tasks and messages";
        let tasks = self.pool.fetch_one(sqlx::query(TASKS)).await.map_err(failed(name))?;
        let count = |column| tasks.try_get::<i64, _>(column).map(i64::cast_unsigned);
        let mut counts = Counts {
            acquired: count(0).map_err(failed(name))?,
            halted: count(1).map_err(failed(name))?,
            ready: count(2).map_err(failed(name))?,
            ..Counts::default()
        };
        for kind in MessageKind::ALL {
            let query = sqlx::query(OUTBOX).bind(i64::from(kind.number()));
            let row = self.pool.fetch_one(query).await.map_err(failed(name))?;
            let owed = row.try_get::<i64, _>(0).map_err(failed(name))?.cast_unsigned();
            if owed > 0 {
                counts.outbox.insert(kind, owed);
            }
        }
        Ok(counts)
    }
}
