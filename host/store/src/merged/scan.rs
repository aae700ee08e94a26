//! Scans over several databases: one database after the other.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    id::{ObjectId, PromiseId},
    limit::{LimitName, PartitionId},
    object::ObjectQueue,
    promise::Promise,
    shard::DatabaseIndex,
    time::{Millis, Timestamp},
};

use super::{MergedReads, size};
use crate::{
    ExaminedPage, GatherError, GatherSelection, GatherSink, LimitCount, ObjectFilter, PromiseRow,
    Read as _, Scan, ScanPage, SizeReport, Store, StoreError,
    archive::{ArchiveError, ArchiveSink},
    gather::{self, SuccessiveReads},
};

/// Number of bits of a cursor that are the number of a promise: numbers are smaller than 2^53. The
/// bits above them are the index of the database.
const NUMBER_BITS: u32 = 56;

/// The largest number in a cursor; no promise has it.
pub(super) const NUMBER_END: i64 = (1 << NUMBER_BITS) - 1;

/// Age from which a prepared transaction is damage. Any host finishes it within seconds.
const IN_DOUBT_MAX: Millis = Millis(10_000);

/// The position of a scan: a number in one database. In a trait's `i64`, the first database has the
/// numbers themselves as cursors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanCursor {
    database: DatabaseIndex,
    after: i64,
}

impl ScanCursor {
    pub(super) fn of(cursor: i64) -> Self {
        let cursor = cursor.max(0);
        let database = DatabaseIndex::try_from(cursor >> NUMBER_BITS).unwrap_or_default();
        Self { database, after: cursor & NUMBER_END }
    }

    fn number(self) -> i64 {
        ((self.database as i64) << NUMBER_BITS) | self.after
    }

    /// The cursor after a page of the database whose next page begins at `next`. `None` if that was
    /// the last page of the last of `databases`.
    pub(super) fn next(self, next: Option<i64>, databases: usize) -> Option<i64> {
        let next = match next {
            Some(after) => Self { after, ..self },
            None => Self { database: self.database + 1, after: 0 },
        };
        (next.database < databases).then(|| next.number())
    }
}

impl MergedReads {
    /// The database in which a scan continues. `None` after the last one.
    fn scanned(&self, cursor: ScanCursor) -> Option<&Arc<dyn Store>> {
        self.members.get(cursor.database)
    }

    /// A page of the database in which a scan continues. The page of one that is away is empty: the
    /// work of the others goes on, and the next round of the scan looks at its rows.
    async fn scan_page<T, F>(
        &self,
        after: i64,
        ask: impl Fn(Arc<dyn Store>, i64) -> F,
    ) -> Result<ScanPage<T>, StoreError>
    where
        F: Future<Output = Result<ScanPage<T>, StoreError>>,
    {
        let cursor = ScanCursor::of(after);
        let Some(member) = self.scanned(cursor) else { return Ok(ScanPage::end()) };
        let page = match self.presence.is_left_out(cursor.database) {
            true => ScanPage::end(),
            false => match ask(member.clone(), cursor.after).await {
                Err(StoreError::Away { .. }) => ScanPage::end(),
                page => page.map_err(|error| self.failure_of(cursor.database, error))?,
            },
        };
        Ok(ScanPage { next: cursor.next(page.next, self.members.len()), ..page })
    }

    /// Adds the rows of other databases to which the page of a database refers: promises that wait
    /// or are awaited, and the limits and queues of its executions.
    async fn complete(
        &self,
        page: &mut ExaminedPage,
        home: DatabaseIndex,
    ) -> Result<(), StoreError> {
        let map = self.map().await;
        let mut elsewhere = page.referenced();
        elsewhere.retain(|id| map.promise(id) != home);
        match self.promises(&elsewhere).await {
            Ok(rows) => {
                for PromiseRow { promise, task } in rows.into_iter().flatten() {
                    page.view.put_promise(promise);
                    task.into_iter().for_each(|task| page.view.put_task(task));
                }
            }
            // A damaged row of another database must not hide the others.
            Err(error @ StoreError::Database { .. }) => page.unreadable.push(error.to_string()),
            Err(error) => return Err(error),
        }
        let (limits, partitions) = page.limits();
        for name in limits.iter().map(|name| LimitName::from(name.as_str())) {
            if map.limit(&name) != home
                && let Some(limit) = self.limit(&name).await?
            {
                page.view.put_limit(name, limit);
            }
        }
        for id in partitions.iter().map(|id| PartitionId::from(id.as_str())) {
            if map.limit(&id.limit()) != home
                && let Some(partition) = self.partition(&id).await?
            {
                page.view.put_partition(id, partition);
            }
        }
        for object in page.objects() {
            if map.object(&object) != home
                && let Some(line) = self.line(&object).await?
            {
                page.view.put_line(object, line);
            }
        }
        Ok(())
    }

    /// The queue of an object: the first object with its name as a prefix is the object itself.
    async fn line(&self, object: &ObjectId) -> Result<Option<ObjectQueue>, StoreError> {
        let prefix = Some(object.to_string());
        let filter = &ObjectFilter { prefix, after: None, limit: 1 };
        let found = self.at(
            |map| map.object(object),
            |member| async move { member.read().objects(filter).await },
        );
        Ok(found
            .await?
            .items
            .into_iter()
            .find(|row| row.object == *object)
            .and_then(|row| row.line))
    }
}

#[async_trait]
impl Scan for MergedReads {
    async fn candidates(&self, after: i64, limit: u32) -> Result<ScanPage<PromiseId>, StoreError> {
        self.scan_page(after, |member, after| async move {
            member.scan().candidates(after, limit).await
        })
        .await
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<ScanPage<Promise>, StoreError> {
        self.scan_page(after, |member, after| async move {
            member.scan().finished(after, limit, before).await
        })
        .await
    }

    /// All promises that a `maker` made lie in its database, so their cursors are numbers.
    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<ExaminedPage, StoreError> {
        let cursor = match maker {
            Some(maker) => ScanCursor { database: self.map().await.promise(maker), after },
            None => ScanCursor::of(after),
        };
        let Some(member) = self.scanned(cursor) else { return Ok(ExaminedPage::default()) };
        let page = member.scan().examine(maker, cursor.after, limit).await;
        let mut page = page.map_err(|error| self.failure_of(cursor.database, error))?;
        self.complete(&mut page, cursor.database).await?;
        if maker.is_none() {
            page.next = cursor.next(page.next, self.members.len());
        }
        Ok(page)
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let found = self.all(|member| async move { member.scan().integrity().await }).await?;
        let found = found.into_iter().enumerate().flat_map(|(database, lines)| {
            let name = self.name(database);
            lines.into_iter().map(move |line| format!("{name}: {line}"))
        });
        let in_doubt = match &self.databases {
            Some(databases) => databases.oldest_in_doubt().await,
            None => None,
        };
        let in_doubt = in_doubt.filter(|age| *age > IN_DOUBT_MAX).map(|age| {
            format!(
                "a transaction over several databases has been prepared for {age}: a host that reaches all of them \
                 finishes it"
            )
        });
        Ok(found.chain(in_doubt).collect())
    }

    /// The counters lie with the limit, and the executions anywhere.
    async fn limit_counts(&self) -> Result<Vec<LimitCount>, StoreError> {
        let found = self.all(|member| async move { member.scan().limit_counts().await }).await?;
        let mut sums: BTreeMap<PartitionId, LimitCount> = BTreeMap::new();
        for count in found.into_iter().flatten() {
            let none = LimitCount { key: count.key.clone(), counted: 0, there: 0 };
            let sum = sums.entry(count.key).or_insert(none);
            sum.counted += count.counted;
            sum.there += count.there;
        }
        Ok(sums.into_values().collect())
    }

    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        match &self.databases {
            Some(databases) => databases.export(sink).await,
            None => Err(ArchiveError::Place("databases in memory are not exported".to_owned())),
        }
    }

    /// The rows are not read as of one instant: neither those of different databases, nor those of
    /// one.
    async fn gather(
        &self,
        selection: &GatherSelection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError> {
        gather::gather(&mut SuccessiveReads(self), selection, sink).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let reports = self.all(|member| async move { member.scan().size(top).await }).await?;
        Ok(size::sum(reports, top as usize))
    }
}

impl<T> ScanPage<T> {
    /// The page after the last one.
    fn end() -> Self {
        Self { items: Vec::new(), looked_at: 0, next: None }
    }
}
