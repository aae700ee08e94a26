//! Everything that is kept, read in one transaction.

use segno_core::state::State;

use super::reader::{Reader, failed};
use crate::{
    StoreError,
    sql::dump::{self, About},
};

/// In two places here, so long as claims are under way.
const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journals JOIN promises ON promises.n = inv ORDER BY inv, first_seq";

impl Reader {
    /// Everything, as the model holds it.
    pub(super) async fn whole(&self) -> Result<State, StoreError> {
        let failed = failed("read everything");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let mut state = State::whole();
        for (about, statement) in dump::WHOLE {
            let statement = if matches!(about, About::Journal) { JOURNALS } else { statement };
            let rows = sqlx::query(statement).fetch_all(&mut *transaction).await;
            for row in &rows.map_err(&failed)? {
                dump::put(&mut state, about, row).map_err(&failed)?;
            }
        }
        transaction.commit().await.map_err(&failed)?;
        Ok(state)
    }
}
