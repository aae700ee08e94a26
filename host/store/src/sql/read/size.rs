//! Reads the disk usage of a store.

use std::ops::ControlFlow;

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::{DatabaseKind, DatabaseSession, Select};
use crate::{
    FunctionSize, ModuleSize, PartSize, SizeReport, TreeSize,
    size::TreeSizes,
    sql::{self, RowFields, SqlFailure},
};

/// Bytes of SQLite's pages, and of its free pages.
const PAGES: &str = "
    SELECT page_count * page_size, freelist_count * page_size
      FROM pragma_page_count, pragma_page_size, pragma_freelist_count";

/// The size of every table with its indexes. SQLite reads every page of the database. PostgreSQL
/// returns the row counts of the last vacuum.
const PARTS: Select = Select::differing("
    SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name)
     WHERE tbl_name <> '_sqlx_migrations'
     GROUP BY tbl_name ORDER BY 2 DESC", "
    SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0)::bigint
      FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT LIKE '\\_sqlx%'
     ORDER BY 2 DESC");

/// Bytes of each promise in creation order, so that makers come before the promises they made.
const CONTENT: Select = Select::differing("
    WITH content (n, bytes) AS (
        SELECT n, ifnull(param_bytes, length(param)) + ifnull(value_bytes, ifnull(length(value), 0)) FROM promises
         UNION ALL
        SELECT inv, length(records) FROM journals
         UNION ALL
        SELECT inv, length(lines) FROM logs)
    SELECT n, made_by, state, sum(bytes) FROM content JOIN promises USING (n) GROUP BY n ORDER BY n", "
    WITH content (n, bytes) AS (
        SELECT n, coalesce(param_bytes, octet_length(param)) + coalesce(value_bytes, octet_length(value), 0) FROM promises
         UNION ALL
        SELECT inv, octet_length(records) FROM journal
         UNION ALL
        SELECT inv, octet_length(lines) FROM logs)
    SELECT n, made_by, state, sum(bytes)::bigint FROM content JOIN promises USING (n)
     GROUP BY n, made_by, state ORDER BY n");

/// Grouped by address: there are few addresses and many invocations.
const FUNCTIONS: Select = Select::differing("
    WITH content (n, bytes) AS (
        SELECT n, ifnull(param_bytes, length(param)) + ifnull(value_bytes, ifnull(length(value), 0)) FROM promises WHERE target IS NOT NULL
         UNION ALL
        SELECT inv, length(records) FROM journals
         UNION ALL
        SELECT inv, length(lines) FROM logs)
    SELECT target, count(DISTINCT n), sum(bytes) FROM content JOIN promises USING (n)
     WHERE target IS NOT NULL
     GROUP BY target ORDER BY 3 DESC, 1 LIMIT $1", "
    WITH content (n, bytes) AS (
        SELECT n, coalesce(param_bytes, octet_length(param)) + coalesce(value_bytes, octet_length(value), 0) FROM promises WHERE target IS NOT NULL
         UNION ALL
        SELECT inv, octet_length(records) FROM journal
         UNION ALL
        SELECT inv, octet_length(lines) FROM logs)
    SELECT target, count(DISTINCT n), sum(bytes)::bigint FROM content JOIN promises USING (n)
     WHERE target IS NOT NULL
     GROUP BY target ORDER BY 3 DESC, 1 LIMIT $1");

const MODULES: Select = Select::differing("
    SELECT lower(hex(digest)), length(component),
           (SELECT json_group_array(name) FROM (SELECT name FROM aliases WHERE module = modules.n ORDER BY name))
      FROM modules ORDER BY 2 DESC, 1 LIMIT $1", "
    SELECT encode(digest, 'hex'), octet_length(component)::bigint,
           (SELECT coalesce(json_agg(name ORDER BY name), '[]')::text FROM aliases WHERE module = modules.n)
      FROM modules ORDER BY 2 DESC, 1 LIMIT $1");

const NAME: Select = Select::common("SELECT id FROM promises WHERE n = $1");

/// The disk usage, with the `top` largest trees, modules and functions.
pub(crate) async fn report<S: DatabaseSession>(
    session: &mut S,
    top: u32,
) -> Result<SizeReport, SqlFailure> {
    session.without_time_limit().await?;
    let mut report = SizeReport { trees: trees(session, top).await?, ..SizeReport::default() };
    report.parts = parts(session).await?;
    match S::KIND {
        DatabaseKind::Sqlite => {
            let pages = session.rows(PAGES.into_sql_str(), &[]).await?;
            let pages = pages.first().ok_or(SqlFailure::NoRow)?;
            (report.bytes, report.free_bytes) = (number(pages, 0)?, number(pages, 1)?);
        }
        DatabaseKind::Postgres => report.bytes = report.parts.iter().map(|part| part.bytes).sum(),
    }
    for row in &session.all(&FUNCTIONS, &[top.into()]).await? {
        report.functions.push(FunctionSize {
            target: sql::text(row, 0)?.to_string(),
            invocations: number(row, 1)?,
            bytes: number(row, 2)?,
        });
    }
    for row in &session.all(&MODULES, &[top.into()]).await? {
        let aliases = row.text(2)?.and_then(|json| serde_json::from_str(&json).ok());
        let (digest, bytes) = (sql::text(row, 0)?.to_string(), number(row, 1)?);
        report.modules.push(ModuleSize { digest, aliases: aliases.unwrap_or_default(), bytes });
    }
    Ok(report)
}

async fn parts<S: DatabaseSession>(session: &mut S) -> Result<Vec<PartSize>, SqlFailure> {
    let mut parts = Vec::new();
    for row in &session.all(&PARTS, &[]).await? {
        let name = sql::text(row, 0)?.to_string();
        let rows = match S::KIND {
            DatabaseKind::Sqlite => {
                // The name comes from the database's schema.
                let count = AssertSqlSafe(format!("SELECT count(*) FROM \"{name}\""));
                let counted = session.rows(count.into_sql_str(), &[]).await?;
                counted.first().map_or(Ok(0), |row| number(row, 0))?
            }
            DatabaseKind::Postgres => number(row, 2)?,
        };
        parts.push(PartSize { name, rows, bytes: number(row, 1)? });
    }
    Ok(parts)
}

async fn trees<S: DatabaseSession>(session: &mut S, top: u32) -> Result<Vec<TreeSize>, SqlFailure> {
    let mut forest = TreeSizes::default();
    let content = session.each(CONTENT.text(S::KIND).into_sql_str(), &[], |row| {
        let settled = row.int(2)? != Some(0);
        forest.add(row.int(0)?.unwrap_or_default(), row.int(1)?, settled, number(&row, 3)?);
        Ok(ControlFlow::Continue(()))
    });
    content.await?;
    let mut trees = Vec::new();
    for (root, tree) in forest.largest(top) {
        let id = sql::id(&session.one(&NAME, &[root.into()]).await?, 0)?.to_string();
        trees.push(TreeSize { id, ..tree });
    }
    Ok(trees)
}

fn number(row: &impl RowFields, column: usize) -> Result<u64, SqlFailure> {
    Ok(row.int(column)?.unwrap_or_default().cast_unsigned())
}
