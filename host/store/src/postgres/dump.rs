//! Everything that is kept, read in one transaction.

use segno_core::state::State;
use sqlx::Executor as _;

use super::reader::{Reader, failed};
use crate::{StoreError, sql::dump};

impl Reader {
    /// Everything, as the model holds it.
    pub(super) async fn whole(&self) -> Result<State, StoreError> {
        let failed = failed("read everything");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        transaction
            .execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            .await
            .map_err(&failed)?;
        let mut state = State::whole();
        for (about, statement) in dump::WHOLE {
            let rows = sqlx::query(statement).fetch_all(&mut *transaction).await;
            for row in &rows.map_err(&failed)? {
                dump::put(&mut state, about, row).map_err(&failed)?;
            }
        }
        transaction.commit().await.map_err(&failed)?;
        Ok(state)
    }
}
