//! Exports every row of every table into an archive.

use std::ops::ControlFlow;

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::{DatabaseKind, DatabaseSession, Select};
use crate::{
    archive::{ArchiveError, ArchiveHead, ArchiveRow, ArchiveSink, ArchiveTable},
    sql::{self, RowFields as _, SqlFailure},
};

/// The tables that others reference, in order; the other tables follow by name.
const FIRST_TABLES: [&str; 4] = ["modules", "aliases", "promises", "tasks"];

/// The attempted action in errors of an export.
pub(crate) const READ_ALL: &str = "read everything";

const FORMAT: Select = Select::common("SELECT max(version) FROM _sqlx_migrations");

const TABLES: Select = Select::differing(
    "
    SELECT name FROM sqlite_schema
     WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx_%' AND name <> 'journal_recent'",
    "
    SELECT relname::text FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname NOT LIKE '\\_sqlx%'",
);

const COLUMNS: Select = Select::differing(
    "SELECT name FROM pragma_table_info($1) ORDER BY cid",
    "
    SELECT attname::text FROM pg_attribute
     WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
);

/// Passes every row that the transaction sees to `sink`.
pub(crate) async fn export<S: DatabaseSession>(
    session: &mut S,
    sink: &mut dyn ArchiveSink,
) -> Result<(), ArchiveError> {
    session.without_time_limit().await.map_err(refused(READ_ALL))?;
    let head = head(session).await.map_err(refused(READ_ALL))?;
    sink.head(&head)?;
    for (place, table) in head.tables.iter().enumerate() {
        each_row(session, table, |row| sink.write_row(place, row)).await?;
    }
    Ok(())
}

/// Passes every row of a table that the transaction sees to `take`.
pub(crate) async fn each_row<S: DatabaseSession>(
    session: &mut S,
    table: &ArchiveTable,
    mut take: impl FnMut(ArchiveRow) -> Result<(), ArchiveError> + Send,
) -> Result<(), ArchiveError> {
    let order = if table.columns.len() > 1 { "1, 2" } else { "1" };
    let columns: Vec<_> = table.columns.iter().map(|name| format!("\"{name}\"")).collect();
    for source in sources(S::KIND, &table.name) {
        let text = format!("SELECT {} FROM \"{source}\" ORDER BY {order}", columns.join(", "));
        let mut taken = Ok(());
        let rows = session.each(AssertSqlSafe(text).into_sql_str(), &[], |row| {
            let row = (0..columns.len()).map(|column| S::cell(&row, column));
            taken = take(row.collect::<Result<_, _>>()?);
            Ok(match &taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })
        });
        rows.await.map_err(refused(READ_ALL))?;
        taken?;
    }
    Ok(())
}

/// The head of an archive of all rows that the transaction sees.
pub(crate) async fn head<S: DatabaseSession>(session: &mut S) -> Result<ArchiveHead, SqlFailure> {
    let format = session.one(&FORMAT, &[]).await?.int(0)?.unwrap_or_default();
    let names = session.all(&TABLES, &[]).await?;
    let names = names.iter().map(|row| Ok(sql::text(row, 0)?.to_string()));
    let mut names = names.collect::<Result<Vec<_>, SqlFailure>>()?;
    names.sort_by_key(|name| {
        let first = FIRST_TABLES.iter().position(|first| first == name);
        (first.unwrap_or(FIRST_TABLES.len()), name.clone())
    });
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        let columns = session.all(&COLUMNS, &[name.as_str().into()]).await?;
        let columns = columns.iter().map(|row| Ok(sql::text(row, 0)?.to_string()));
        let columns = columns.collect::<Result<Vec<_>, SqlFailure>>()?;
        let mut rows: i64 = 0;
        for source in sources(S::KIND, &name) {
            let count = AssertSqlSafe(format!("SELECT count(*) FROM \"{source}\""));
            for row in &session.rows(count.into_sql_str(), &[]).await? {
                rows += row.int(0)?.unwrap_or_default();
            }
        }
        tables.push(ArchiveTable { name, columns, rows: rows.cast_unsigned() });
    }
    Ok(ArchiveHead { written_by: env!("CARGO_PKG_VERSION").to_owned(), format, tables })
}

/// The database tables behind a table of an archive. SQLite keeps the records of active claims in a
/// separate table, and exports them with their journals.
fn sources(kind: DatabaseKind, table: &str) -> Vec<&str> {
    match (kind, table) {
        (DatabaseKind::Sqlite, "journal") => vec![table, "journal_ahead"],
        _ => vec![table],
    }
}

/// An error for a statement that the database refused.
pub(crate) fn refused<F: Into<SqlFailure>>(
    what: &'static str,
) -> impl Fn(F) -> ArchiveError + Copy {
    move |source| ArchiveError::refused(what, source)
}
