//! Looking over the whole database, a page at a time.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};
use sqlx::{Executor as _, PgConnection, Row as _, postgres::PgRow};

use super::{
    archive, examine,
    reader::{Reader, failed},
    size,
};
use crate::{
    Examined, Found, Scan, SizeReport, StoreError,
    archive::{ArchiveError, ArchiveSink},
    sql::{self, Fields as _, promise_columns, promise_tables},
};

/// Each line of the list is what one class of damage looks like in the tables. The last two columns of every row say
/// where the page ends.
const CANDIDATES: &str = "
    WITH page AS (SELECT n, id, state, target FROM promises WHERE n > $1 ORDER BY n LIMIT $2)
    SELECT id, (SELECT max(n) FROM page), (SELECT count(*) FROM page) FROM page
      LEFT JOIN tasks t USING (n)
     WHERE (page.state = 0 AND target IS NOT NULL AND t.n IS NULL)
        OR (t.state IN (1, 2) AND wake_at IS NULL)
        OR (t.state = 5) <> (page.state <> 0)
        OR substr(t.details, 1, 1) <> '\\x01'
        OR (page.state <> 0 AND (
               EXISTS (SELECT 1 FROM listeners WHERE awaited = page.n)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaited = page.n AND consumed = 0)
            OR EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR (EXISTS (SELECT 1 FROM promises child LEFT JOIN tasks asked ON asked.n = child.n
                         WHERE child.made_by = page.n AND child.state = 0 AND child.attached = 1
                           AND coalesce(asked.cancel, 0) = 0)
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE source = page.n AND kind = 4))))
        OR (t.state = 3 AND (
               NOT EXISTS (SELECT 1 FROM callbacks WHERE awaiter = page.n)
            OR EXISTS (SELECT 1 FROM callbacks JOIN promises awaited ON awaited.n = callbacks.awaited
                        WHERE awaiter = page.n AND (consumed = 1 OR awaited.state <> 0))))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM journal head
                WHERE head.inv = page.n
                  AND head.first_seq = (SELECT max(first_seq) FROM journal WHERE inv = page.n)
                  AND (head.notified > head.commands OR head.commands + head.notified > head.end_seq - 1
                       OR head.first_seq <> coalesce((SELECT end_seq FROM journal before
                                                       WHERE before.inv = page.n AND before.first_seq < head.first_seq
                                                       ORDER BY before.first_seq DESC LIMIT 1), 0))))
        OR (page.state = 0 AND EXISTS (
               SELECT 1 FROM compensations done JOIN compensations failed USING (inv, saga, seq)
                WHERE done.inv = page.n AND done.fact = 2 AND failed.fact = 3))
     UNION ALL
    SELECT NULL, max(n), count(*) FROM page";

const FINISHED: &str = concat!(
    "WITH page AS (SELECT n AS number, made_by AS maker, state AS settled, settled_at AS at
                     FROM promises WHERE n > $1 ORDER BY n LIMIT $2)
     SELECT ",
    promise_columns!(),
    "FROM page JOIN promises p ON p.n = number ",
    promise_tables!(),
    "WHERE maker IS NULL AND settled <> 0 AND at <= $3
     ORDER BY number",
);

const PAGE_END: &str = "
    SELECT max(n), count(*) FROM (SELECT n FROM promises WHERE n > $1 ORDER BY n LIMIT $2) AS page";

#[async_trait]
impl Scan for Reader {
    async fn candidates(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError> {
        let failed = failed("look for damage");
        let mut connection = self.pool.acquire().await.map_err(&failed)?;
        candidates(&mut connection, after, limit).await.map_err(&failed)
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError> {
        let failed = failed("look for finished trees");
        let mut connection = self.pool.acquire().await.map_err(&failed)?;
        finished(&mut connection, after, limit, before).await.map_err(&failed)
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError> {
        let failed = failed("examine a page");
        let mut transaction = self.pool.begin_with(SNAPSHOT).await.map_err(&failed)?;
        let examined =
            examine::read(&mut transaction, maker, after, limit).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(examined)
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        // PostgreSQL checks its pages as it reads them, and never lets a reference dangle.
        Ok(Vec::new())
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        let refused = archive::refused("read everything");
        let mut transaction = self.pool.begin_with(SNAPSHOT).await.map_err(&refused)?;
        archive::write_archive(&mut transaction, sink).await?;
        transaction.commit().await.map_err(&refused)
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let failed = failed("measure the database");
        let mut transaction = self.pool.begin_with(SNAPSHOT).await.map_err(&failed)?;
        transaction.execute(archive::NO_HURRY).await.map_err(&failed)?;
        let report = size::report(&mut transaction, top).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(report)
    }
}

/// A transaction that sees one instant.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(super) async fn candidates(
    connection: &mut PgConnection,
    after: i64,
    limit: u32,
) -> Result<Found<PromiseId>, sqlx::Error> {
    let query = sqlx::query(CANDIDATES).bind(after).bind(i64::from(limit));
    let found = query.fetch_all(connection).await?;
    let mut items = Vec::new();
    for row in &found {
        if row.text(0)?.is_some() {
            items.push(sql::id(row, 0)?);
        }
    }
    let (next, looked_at) = found.last().map_or(Ok((None, 0)), |row| end(row, 1, limit))?;
    Ok(Found { items, looked_at, next })
}

pub(super) async fn finished(
    connection: &mut PgConnection,
    after: i64,
    limit: u32,
    before: Timestamp,
) -> Result<Found<Promise>, sqlx::Error> {
    let end_of_page = sqlx::query(PAGE_END).bind(after).bind(i64::from(limit));
    let (next, looked_at) = end(&end_of_page.fetch_one(&mut *connection).await?, 0, limit)?;
    let query = sqlx::query(FINISHED).bind(after).bind(i64::from(limit)).bind(before.0);
    let found = query.fetch_all(connection).await?;
    let items = found.iter().map(|row| sql::promise(row).map(|(_, promise)| promise));
    Ok(Found { items: items.collect::<Result<_, _>>()?, looked_at, next })
}

/// Where a page ends: its last number and its length, from column `first` on.
fn end(row: &PgRow, first: usize, limit: u32) -> Result<(Option<i64>, u32), sqlx::Error> {
    let last: Option<i64> = row.try_get(first)?;
    let looked_at = u32::try_from(row.try_get::<i64, _>(first + 1)?).unwrap_or(u32::MAX);
    Ok((last.filter(|_| looked_at == limit), looked_at))
}
