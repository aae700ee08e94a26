//! What takes the room in the database.

use futures::TryStreamExt as _;
use sqlx::{PgConnection, Row as _};

use crate::{
    FunctionSize, ModuleSize, PartSize, SizeReport, TreeSize,
    size::Forest,
    sql::{self, Fields as _},
};

/// Every table with its indexes and what is stored beside it; rows as the last vacuum counted them.
const PARTS: &str = "
    SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0)::bigint
      FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT LIKE '\\_sqlx%'
     ORDER BY 2 DESC";

/// Bytes of each promise, in the order of their creation, which is that of makers before what they made.
const CONTENT: &str = "
    WITH content (n, bytes) AS (
        SELECT n, octet_length(param) + coalesce(octet_length(value), 0) FROM promises
         UNION ALL
        SELECT inv, octet_length(records) FROM journal
         UNION ALL
        SELECT inv, octet_length(lines) FROM logs)
    SELECT n, made_by, state, sum(bytes)::bigint FROM content JOIN promises USING (n)
     GROUP BY n, made_by, state ORDER BY n";

/// By address; the addresses are few, the invocations are many.
const FUNCTIONS: &str = "
    WITH content (n, bytes) AS (
        SELECT n, octet_length(param) + coalesce(octet_length(value), 0) FROM promises WHERE target IS NOT NULL
         UNION ALL
        SELECT inv, octet_length(records) FROM journal
         UNION ALL
        SELECT inv, octet_length(lines) FROM logs)
    SELECT target, count(DISTINCT n), sum(bytes)::bigint FROM content JOIN promises USING (n)
     WHERE target IS NOT NULL
     GROUP BY target ORDER BY 3 DESC, 1 LIMIT $1";

const MODULES: &str = "
    SELECT encode(digest, 'hex'), octet_length(component)::bigint,
           (SELECT coalesce(json_agg(name ORDER BY name), '[]')::text FROM aliases WHERE module = modules.n)
      FROM modules ORDER BY 2 DESC, 1 LIMIT $1";

/// What takes the room, as far as PostgreSQL tells.
pub(super) async fn report(
    connection: &mut PgConnection,
    top: u32,
) -> Result<SizeReport, sqlx::Error> {
    let mut report = SizeReport { trees: trees(connection, top).await?, ..SizeReport::default() };
    for row in &sqlx::query(PARTS).fetch_all(&mut *connection).await? {
        let (rows, bytes) = (number(row, 2)?, number(row, 1)?);
        report.bytes += bytes;
        report.parts.push(PartSize { name: row.try_get(0)?, rows, bytes });
    }
    let top = i64::from(top);
    for row in &sqlx::query(FUNCTIONS).bind(top).fetch_all(&mut *connection).await? {
        report.functions.push(FunctionSize {
            target: sql::text(row, 0)?.to_string(),
            invocations: number(row, 1)?,
            bytes: number(row, 2)?,
        });
    }
    for row in &sqlx::query(MODULES).bind(top).fetch_all(&mut *connection).await? {
        let aliases = row.text(2)?.and_then(|json| serde_json::from_str(&json).ok());
        let (digest, bytes) = (row.try_get(0)?, number(row, 1)?);
        report.modules.push(ModuleSize { digest, aliases: aliases.unwrap_or_default(), bytes });
    }
    Ok(report)
}

async fn trees(connection: &mut PgConnection, top: u32) -> Result<Vec<TreeSize>, sqlx::Error> {
    let mut forest = Forest::default();
    {
        let mut rows = sqlx::query(CONTENT).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            let settled = row.int(2)? != Some(0);
            forest.add(row.try_get(0)?, row.try_get(1)?, settled, number(&row, 3)?);
        }
    }
    let mut trees = Vec::new();
    for (root, tree) in forest.largest(top) {
        let name = sqlx::query("SELECT id FROM promises WHERE n = $1").bind(root);
        let row = name.fetch_one(&mut *connection).await?;
        trees.push(TreeSize { id: sql::id(&row, 0)?.to_string(), ..tree });
    }
    Ok(trees)
}

fn number(row: &sqlx::postgres::PgRow, column: usize) -> Result<u64, sqlx::Error> {
    Ok(row.int(column)?.unwrap_or_default().cast_unsigned())
}
