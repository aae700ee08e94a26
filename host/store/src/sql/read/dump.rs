//! Dumps all stored rows as a view.

use segno_core::view::View;
use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::{DatabaseKind, DatabaseSession, large_values::chunks_of};
use crate::sql::{
    SqlFailure,
    dump::{self, DumpRowKind},
};

/// SQLite stores the records of active claims in a separate table; the view `journals` merges them.
const JOURNALS: &str = "
    SELECT promises.id, end_seq, commands, notified, at, finished, records
      FROM journals JOIN promises ON promises.n = inv ORDER BY inv, first_seq";

/// PostgreSQL stores callbacks between the databases of a store in a separate table.
const CALLBACKS: &str = "
    SELECT awaited.id, awaiter.id, consumed FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited
      JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     UNION ALL
    SELECT awaited, awaiter, consumed FROM crossings";

/// Reads everything with several statements; must run in a snapshot transaction.
pub(super) async fn whole<S: DatabaseSession>(session: &mut S) -> Result<View, SqlFailure> {
    let mut view = View::new();
    for (about, text) in dump::statements() {
        let text = match (S::KIND, about) {
            (DatabaseKind::Sqlite, DumpRowKind::Journal) => JOURNALS.into_sql_str(),
            (DatabaseKind::Postgres, DumpRowKind::Callback) => CALLBACKS.into_sql_str(),
            _ => AssertSqlSafe(text).into_sql_str(),
        };
        let rows = session.rows(text, &[]).await?;
        let lists = rows.iter().map(|row| dump::lists(about, row));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        let chunks = chunks_of(session, lists.iter().flatten()).await?;
        for row in &rows {
            dump::put(&mut view, about, row, &chunks)?;
        }
    }
    Ok(view)
}
