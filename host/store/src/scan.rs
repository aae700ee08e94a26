//! Reads a whole store, page by page: for the recovery driver, `segno doctor`, `size` and `export`.
//!
//! Pages follow creation order. The cost of a page does not depend on the size of the store.

use async_trait::async_trait;
use segno_core::{
    id::PromiseId, limit::PartitionId, promise::Promise, time::Timestamp, view::View,
};

use super::{
    GatherError, GatherSelection, GatherSink, SizeReport, StoreError,
    archive::{ArchiveError, ArchiveSink},
};

/// The matches on one page of a scan.
#[derive(Debug, Clone)]
pub struct ScanPage<T> {
    pub items: Vec<T>,
    /// Number of promises examined.
    pub looked_at: u32,
    /// Cursor of the next page. `None` if this was the last.
    pub next: Option<i64>,
}

/// A page of promises with all their rows, and with the rows of other promises that they refer to.
#[derive(Debug, Default)]
pub struct ExaminedPage {
    pub view: View,
    /// The promises of the page. Other rows in the view are present only as references, and are
    /// incomplete.
    pub ids: Vec<PromiseId>,
    /// Rows that cannot be read, with the reason.
    pub unreadable: Vec<String>,
    /// Cursor of the next page. `None` if this was the last.
    pub next: Option<i64>,
}

/// The number of executions of one key of a limit, counted in two ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitCount {
    pub key: PartitionId,
    /// According to the counters of the key: running and waiting executions.
    pub counted: u64,
    /// The executions that were admitted or wait.
    pub there: u64,
}

impl LimitCount {
    /// The difference between the two numbers, if there is one.
    pub fn difference(&self) -> Option<String> {
        let Self { key, counted, there } = self;
        (counted != there).then(|| {
            format!("the key `{key}` of a limit counts {counted} executions, and there are {there}")
        })
    }
}

/// Read operations over a whole store.
#[async_trait]
pub trait Scan: Send + Sync {
    /// Returns repair candidates among the `limit` promises after `after`: promises whose rows
    /// appear to contradict each other. A command decides if they do.
    async fn candidates(&self, after: i64, limit: u32) -> Result<ScanPage<PromiseId>, StoreError>;

    /// Returns promises without a maker that settled by `before`, among the `limit` promises after
    /// `after`.
    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<ScanPage<Promise>, StoreError>;

    /// Returns all rows of the `limit` promises after `after`; with a `maker`, only of promises it
    /// made.
    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<ExaminedPage, StoreError>;

    /// Returns damage to the database itself, as reported by the database. Limits are not included
    /// ([`Scan::limit_counts`]).
    async fn integrity(&self) -> Result<Vec<String>, StoreError>;

    /// Counts the executions of all keys of limits in two ways, which must agree
    /// ([`LimitCount::difference`]).
    async fn limit_counts(&self) -> Result<Vec<LimitCount>, StoreError>;

    /// All damage: that of the database, and keys of limits that count wrongly.
    async fn damage(&self) -> Result<Vec<String>, StoreError> {
        let mut damage = self.integrity().await?;
        damage.extend(self.limit_counts().await?.iter().filter_map(LimitCount::difference));
        Ok(damage)
    }

    /// Passes every row to `sink`, as of one instant.
    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError>;

    /// Passes executions with their journals, log lines and the values those refer to to `sink`, as
    /// of one instant: each promise once, parents before their children.
    async fn gather(
        &self,
        selection: &GatherSelection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError>;

    /// Returns the disk usage, with the `top` largest trees, modules and functions.
    async fn size(&self, top: u32) -> Result<SizeReport, StoreError>;
}
