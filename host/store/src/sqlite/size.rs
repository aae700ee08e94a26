//! What takes the room in the database.

use futures::TryStreamExt as _;
use sqlx::{Row as _, SqliteConnection};

use super::reader::{Reader, failed};
use crate::{FunctionSize, ModuleSize, PartSize, SizeReport, StoreError, TreeSize, size::Forest};

const PAGES: &str = "
    SELECT page_count * page_size, freelist_count * page_size
      FROM pragma_page_count, pragma_page_size, pragma_freelist_count";

/// Every table with its indexes. Reads every page of the database.
const PARTS: &str = "
    SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name)
     WHERE tbl_name <> '_sqlx_migrations'
     GROUP BY tbl_name ORDER BY 2 DESC";

/// Bytes of each promise, in the order of their creation, which is that of makers before what they made.
const CONTENT: &str = "
    WITH content (n, bytes) AS (
        SELECT n, length(param) + ifnull(length(value), 0) FROM promises
         UNION ALL
        SELECT inv, length(records) FROM journals
         UNION ALL
        SELECT inv, length(lines) FROM logs)
    SELECT n, made_by, state, sum(bytes) FROM content JOIN promises USING (n) GROUP BY n ORDER BY n";

/// By address; the addresses are few, the invocations are many.
const FUNCTIONS: &str = "
    WITH content (n, bytes) AS (
        SELECT n, length(param) + ifnull(length(value), 0) FROM promises WHERE target IS NOT NULL
         UNION ALL
        SELECT inv, length(records) FROM journals
         UNION ALL
        SELECT inv, length(lines) FROM logs)
    SELECT target, count(DISTINCT n), sum(bytes) FROM content JOIN promises USING (n)
     WHERE target IS NOT NULL
     GROUP BY target ORDER BY 3 DESC, 1 LIMIT ?1";

const MODULES: &str = "
    SELECT lower(hex(digest)), length(component),
           (SELECT json_group_array(name) FROM (SELECT name FROM aliases WHERE module = modules.n ORDER BY name))
      FROM modules ORDER BY 2 DESC, 1 LIMIT ?1";

impl Reader {
    pub(super) async fn size_report(&self, top: u32) -> Result<SizeReport, StoreError> {
        let failed = failed("measure the database");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let report = report(&mut transaction, top).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(report)
    }
}

async fn report(connection: &mut SqliteConnection, top: u32) -> Result<SizeReport, sqlx::Error> {
    let pages = sqlx::query(PAGES).fetch_one(&mut *connection).await?;
    let mut report = SizeReport {
        bytes: pages.try_get::<i64, _>(0)?.cast_unsigned(),
        free_bytes: pages.try_get::<i64, _>(1)?.cast_unsigned(),
        trees: trees(connection, top).await?,
        ..SizeReport::default()
    };
    for row in &sqlx::query(PARTS).fetch_all(&mut *connection).await? {
        let name: String = row.try_get(0)?;
        // The name comes from the schema.
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM \"{name}\""));
        let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut *connection).await?;
        let bytes = row.try_get::<i64, _>(1)?.cast_unsigned();
        report.parts.push(PartSize { name, rows: rows.cast_unsigned(), bytes });
    }
    for row in &sqlx::query(FUNCTIONS).bind(top).fetch_all(&mut *connection).await? {
        report.functions.push(FunctionSize {
            target: row.try_get(0)?,
            invocations: row.try_get::<i64, _>(1)?.cast_unsigned(),
            bytes: row.try_get::<i64, _>(2)?.cast_unsigned(),
        });
    }
    for row in &sqlx::query(MODULES).bind(top).fetch_all(&mut *connection).await? {
        let aliases: Vec<String> = serde_json::from_str(row.try_get(2)?).unwrap_or_default();
        let (digest, bytes) = (row.try_get(0)?, row.try_get::<i64, _>(1)?.cast_unsigned());
        report.modules.push(ModuleSize { digest, aliases, bytes });
    }
    Ok(report)
}

async fn trees(connection: &mut SqliteConnection, top: u32) -> Result<Vec<TreeSize>, sqlx::Error> {
    let mut forest = Forest::default();
    {
        let mut rows = sqlx::query(CONTENT).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            let bytes = row.try_get::<i64, _>(3)?.cast_unsigned();
            forest.add(row.try_get(0)?, row.try_get(1)?, row.try_get::<i64, _>(2)? != 0, bytes);
        }
    }
    let mut trees = Vec::new();
    for (root, tree) in forest.largest(top) {
        let name = sqlx::query_scalar("SELECT id FROM promises WHERE n = ?1").bind(root);
        let id = name.fetch_one(&mut *connection).await?;
        trees.push(TreeSize { id, ..tree });
    }
    Ok(trees)
}
