//! Scans the whole store, page by page.

use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};
use sqlx::SqlSafeStr as _;

use super::{DatabaseKind, DatabaseSession, Select};
use crate::{
    ScanPage,
    sql::{self, RowFields, SqlFailure, promise_columns, promise_tables},
};

/// Each condition detects one class of damage. The last two columns of every row give the end of
/// the page.
const CANDIDATES: Select = Select::differing(
    "
    WITH page AS (SELECT n, id, state, target FROM promises WHERE n > $1 ORDER BY n LIMIT $2)
    SELECT id, (SELECT max(n) FROM page), (SELECT count(*) FROM page) FROM page
      LEFT JOIN tasks t USING (n)
     WHERE (page.state = 0 AND target IS NOT NULL AND t.n IS NULL)
        OR (t.state IN (1, 2) AND wake_at IS NULL)
        OR (t.state = 5) <> (page.state <> 0)
        OR ifnull(substr(t.details, 1, 1), x'') NOT IN (x'01', x'02')
        OR (page.state <> 0 AND (
               EXISTS (SELECT 1 FROM listeners WHERE awaited = page.n)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaited = page.n AND consumed = 0)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR (EXISTS (SELECT 1 FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
                         WHERE child.made_by = page.n AND child.state = 0 AND child.attached = 1
                           AND ifnull(asked.cancel, 0) = 0)
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE source = page.n AND kind = 4))))
        OR (t.state = 3 AND (
               (NOT EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
                AND NOT EXISTS (SELECT 1 FROM places WHERE inv = page.n AND places.state = 1))
            OR EXISTS (SELECT 1 FROM callbacks JOIN promises awaited ON awaited.n = callbacks.awaited
                        WHERE awaiter = page.n AND (consumed = 1 OR awaited.state <> 0))))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM journal head
                WHERE head.n = (SELECT n FROM journal WHERE inv = page.n ORDER BY first_seq DESC LIMIT 1)
                  AND (head.notified > head.commands OR head.commands > head.end_seq - 1
                       OR head.first_seq <> ifnull((SELECT end_seq FROM journal before
                                                     WHERE before.inv = page.n AND before.first_seq < head.first_seq
                                                     ORDER BY before.first_seq DESC LIMIT 1), 0))))
        OR (page.state = 0 AND page.n IN (
               SELECT inv FROM journal_ahead
                WHERE notified > commands OR commands > end_seq - 1))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM compensations done JOIN compensations failed USING (inv, saga, seq)
                WHERE done.inv = page.n AND done.fact = 2 AND failed.fact = 3))
     UNION ALL
    SELECT NULL, max(n), count(*) FROM page",
    "
    WITH page AS (SELECT n, id, state, target FROM promises WHERE n > $1 ORDER BY n LIMIT $2)
    SELECT id, (SELECT max(n) FROM page), (SELECT count(*) FROM page) FROM page
      LEFT JOIN tasks t USING (n)
     WHERE (page.state = 0 AND target IS NOT NULL AND t.n IS NULL)
        OR (t.state IN (1, 2) AND wake_at IS NULL)
        OR (t.state = 5) <> (page.state <> 0)
        OR substr(t.details, 1, 1) NOT IN ('\\x01', '\\x02')
        OR (page.state <> 0 AND (
               EXISTS (SELECT 1 FROM listeners WHERE awaited = page.n)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaited = page.n AND consumed = 0)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR EXISTS (SELECT 1 FROM crossings WHERE awaited = page.id AND consumed = 0)
            OR EXISTS (SELECT 1 FROM crossings WHERE awaiter = page.id)
            OR (EXISTS (SELECT 1 FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
                         WHERE child.made_by = page.n AND child.state = 0 AND child.attached = 1
                           AND coalesce(asked.cancel, 0) = 0)
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE source = page.n AND kind = 4))))
        OR (t.state = 3 AND (
               (NOT EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
                AND NOT EXISTS (SELECT 1 FROM crossings WHERE awaiter = page.id)
                AND NOT EXISTS (SELECT 1 FROM places WHERE inv = page.n AND places.state = 1))
            OR EXISTS (SELECT 1 FROM callbacks JOIN promises awaited ON awaited.n = callbacks.awaited
                        WHERE awaiter = page.n AND (consumed = 1 OR awaited.state <> 0))
            OR EXISTS (SELECT 1 FROM crossings WHERE awaiter = page.id AND consumed = 1)))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM journal head
                WHERE head.inv = page.n
                  AND head.first_seq = (SELECT max(first_seq) FROM journal WHERE inv = page.n)
                  AND (head.notified > head.commands OR head.commands > head.end_seq - 1
                       OR head.first_seq <> coalesce((SELECT end_seq FROM journal before
                                                       WHERE before.inv = page.n AND before.first_seq < head.first_seq
                                                       ORDER BY before.first_seq DESC LIMIT 1), 0))))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM compensations done JOIN compensations failed USING (inv, saga, seq)
                WHERE done.inv = page.n AND done.fact = 2 AND failed.fact = 3))
     UNION ALL
    SELECT NULL, max(n), count(*) FROM page",
);

const FINISHED: Select = Select::common(concat!(
    "WITH page AS (SELECT n AS number, made_by AS maker, state AS settled, settled_at AS at
                     FROM promises WHERE n > $1 ORDER BY n LIMIT $2)
     SELECT ",
    promise_columns!("substr(p.param, 1, 0)", "substr(p.value, 1, 0)"),
    "FROM page JOIN promises p ON p.n = number ",
    promise_tables!(),
    "WHERE maker IS NULL AND settled <> 0 AND at <= $3
     ORDER BY number",
));

const PAGE_END: Select = Select::common(
    "
    SELECT max(n), count(*) FROM (SELECT n FROM promises WHERE n > $1 ORDER BY n LIMIT $2) AS page",
);

/// Integrity checks for SQLite. PostgreSQL checks its pages when it
/// reads them, and never lets a reference dangle.
const INTEGRITY: &str = "PRAGMA integrity_check(20)";
const STRAYS: &str =
    "SELECT \"table\", rowid, parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 3";

/// Candidates for a repair.
pub(crate) async fn candidates(
    session: &mut impl DatabaseSession,
    after: i64,
    limit: u32,
) -> Result<ScanPage<PromiseId>, SqlFailure> {
    let found = session.all(&CANDIDATES, &[after.into(), limit.into()]).await?;
    let mut items = Vec::new();
    for row in &found {
        if row.text(0)?.is_some() {
            items.push(sql::id(row, 0)?);
        }
    }
    let (next, looked_at) = found.last().map_or(Ok((None, 0)), |row| end(row, 1, limit))?;
    Ok(ScanPage { items, looked_at, next })
}

/// Finished trees, by their roots, which come without the data of their values.
pub(crate) async fn finished(
    session: &mut impl DatabaseSession,
    after: i64,
    limit: u32,
    before: Timestamp,
) -> Result<ScanPage<Promise>, SqlFailure> {
    let last = session.one(&PAGE_END, &[after.into(), limit.into()]).await?;
    let (next, looked_at) = end(&last, 0, limit)?;
    let parameters = [after.into(), limit.into(), before.0.into()];
    let found = session.all(&FINISHED, &parameters).await?;
    Ok(ScanPage { items: sql::readable(found.iter().map(sql::inline_promise))?, looked_at, next })
}

/// Damage to the database itself, as reported by the database.
pub(crate) async fn integrity<S: DatabaseSession>(
    session: &mut S,
) -> Result<Vec<String>, SqlFailure> {
    let mut found = super::large_values::left_over(session).await?;
    if S::KIND == DatabaseKind::Postgres {
        return Ok(found);
    }
    for row in &session.rows(INTEGRITY.into_sql_str(), &[]).await? {
        let line = row.text(0)?.unwrap_or_default().into_owned();
        found.extend(Some(line).filter(|line| line != "ok"));
    }
    for row in &session.rows(STRAYS.into_sql_str(), &[]).await? {
        let (table, parent) = (row.text(0)?.unwrap_or_default(), row.text(2)?.unwrap_or_default());
        let count = row.int(3)?.unwrap_or_default();
        found.push(format!(
            "{count} rows of `{table}` refer to rows of `{parent}` that do not exist"
        ));
    }
    Ok(found)
}

/// The end of a page, from column `first` on: the last number, if the page is full, and the number
/// of rows.
fn end(row: &impl RowFields, first: usize, limit: u32) -> Result<(Option<i64>, u32), SqlFailure> {
    let looked_at = row.int(first + 1)?.unwrap_or_default();
    let looked_at = u32::try_from(looked_at).unwrap_or(u32::MAX);
    Ok((row.int(first)?.filter(|_| looked_at == limit), looked_at))
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[CANDIDATES, FINISHED, PAGE_END];
