//! Looking over the whole database, a page at a time.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};
use sqlx::{Row as _, sqlite::SqliteRow};

use super::{
    examine,
    reader::{Reader, failed},
};
use crate::{
    Examined, Found, Scan, SizeReport, StoreError,
    archive::{ArchiveError, ArchiveSink},
    sql::{self, promise_columns, promise_tables},
};

/// Each line of the list is what one class of damage looks like in the tables. The last two columns of every row say
/// where the page ends.
const CANDIDATES: &str = "
    WITH page AS (SELECT n, id, state, target FROM promises WHERE n > ?1 ORDER BY n LIMIT ?2)
    SELECT id, (SELECT max(n) FROM page), (SELECT count(*) FROM page) FROM page
      LEFT JOIN tasks t USING (n)
     WHERE (page.state = 0 AND target IS NOT NULL AND t.n IS NULL)
        OR (t.state IN (1, 2) AND wake_at IS NULL)
        OR (t.state = 5) <> (page.state <> 0)
        OR ifnull(substr(t.details, 1, 1), x'') <> x'01'
        OR (page.state <> 0 AND (
               EXISTS (SELECT 1 FROM listeners WHERE awaited = page.n)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaited = page.n AND consumed = 0)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR (EXISTS (SELECT 1 FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
                         WHERE child.made_by = page.n AND child.state = 0 AND child.attached = 1
                           AND ifnull(asked.cancel, 0) = 0)
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE source = page.n AND kind = 4))))
        OR (t.state = 3 AND (
               NOT EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR EXISTS (SELECT 1 FROM callbacks JOIN promises awaited ON awaited.n = callbacks.awaited
                        WHERE awaiter = page.n AND (consumed = 1 OR awaited.state <> 0))))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM journal head
                WHERE head.n = (SELECT n FROM journal WHERE inv = page.n ORDER BY first_seq DESC LIMIT 1)
                  AND (head.notified > head.commands OR head.commands + head.notified > head.end_seq - 1
                       OR head.first_seq <> ifnull((SELECT end_seq FROM journal before
                                                     WHERE before.inv = page.n AND before.first_seq < head.first_seq
                                                     ORDER BY before.first_seq DESC LIMIT 1), 0))))
        OR (page.state = 0 AND page.n IN (
               SELECT inv FROM journal_ahead
                WHERE notified > commands OR commands + notified > end_seq - 1))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM compensations done JOIN compensations failed USING (inv, saga, seq)
                WHERE done.inv = page.n AND done.fact = 2 AND failed.fact = 3))
     UNION ALL
    SELECT NULL, max(n), count(*) FROM page";

const FINISHED: &str = concat!(
    "WITH page AS (SELECT n AS number, made_by AS maker, state AS settled, settled_at AS at
                     FROM promises WHERE n > ?1 ORDER BY n LIMIT ?2)
     SELECT ",
    promise_columns!(),
    "FROM page JOIN promises p ON p.n = number ",
    promise_tables!(),
    "WHERE maker IS NULL AND settled <> 0 AND at <= ?3
     ORDER BY number",
);

const PAGE_END: &str = "
    SELECT max(n), count(*) FROM (SELECT n FROM promises WHERE n > ?1 ORDER BY n LIMIT ?2)";

#[async_trait]
impl Scan for Reader {
    async fn candidates(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        let failed = failed("look for damage");
        let query = sqlx::query(CANDIDATES).bind(after).bind(limit);
        let found = query.fetch_all(&self.pool).await.map_err(&failed)?;
        let mut items = Vec::new();
        for row in &found {
            let id: Option<&str> = row.try_get(0).map_err(&failed)?;
            items.extend(id.map(PromiseId::new));
        }
        let (next, looked_at) =
            found.last().map_or(Ok((None, 0)), |row| end(row, 1, limit)).map_err(&failed)?;
        Ok(Found { items, looked_at, next })
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        let failed = failed("look for finished trees");
        let end_of_page = sqlx::query(PAGE_END).bind(after).bind(limit);
        let last = end_of_page.fetch_one(&self.pool).await.map_err(&failed)?;
        let (next, looked_at) = end(&last, 0, limit).map_err(&failed)?;
        let query = sqlx::query(FINISHED).bind(after).bind(limit).bind(before.0);
        let found = query.fetch_all(&self.pool).await.map_err(&failed)?;
        let items = found.iter().map(|row| sql::promise(row).map(|(_, promise)| promise));
        Ok(Found { items: sql::readable(items).map_err(&failed)?, looked_at, next })
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        let failed = failed("examine a page");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let page = examine::read(&mut transaction, maker, after, limit);
        let examined = page.await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(examined)
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let failed = failed("check the database");
        let mut found = Vec::new();
        let check = "PRAGMA integrity_check(20)";
        for row in &sqlx::query(check).fetch_all(&self.pool).await.map_err(&failed)? {
            let line: String = row.try_get(0).map_err(&failed)?;
            found.extend(Some(line).filter(|line| line != "ok"));
        }
        let strays =
            "SELECT \"table\", rowid, parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 3";
        for row in &sqlx::query(strays).fetch_all(&self.pool).await.map_err(&failed)? {
            let table: String = row.try_get(0).map_err(&failed)?;
            let parent: String = row.try_get(2).map_err(&failed)?;
            let count: i64 = row.try_get(3).map_err(&failed)?;
            found.push(format!(
                "{count} rows of `{table}` refer to rows of `{parent}` that do not exist"
            ));
        }
        Ok(found)
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        self.write_archive(sink).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        self.size_report(top).await
    }
}

/// Where a page ends: its last number and its length, from column `first` on.
fn end(row: &SqliteRow, first: usize, limit: u32) -> Result<(Option<i64>, u32), sqlx::Error> {
    let last: Option<i64> = row.try_get(first)?;
    let looked_at: u32 = row.try_get(first + 1)?;
    Ok((last.filter(|_| looked_at == limit), looked_at))
}

/// Every statement that looks for something, for the tests of their plans.
#[cfg(test)]
pub(super) const STATEMENTS: [&str; 3] = [CANDIDATES, FINISHED, PAGE_END];
