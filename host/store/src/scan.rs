//! Reading a whole store, a page at a time: for the recovery driver, `segno doctor`, `size` and
//! `export`.
//!
//! Pages follow the order of creation. The cost of a page does not depend on the size of the store.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp, view::View};

use super::{
    GatherError, GatherSink, Selection, SizeReport, StoreError,
    archive::{ArchiveError, ArchiveSink},
};

/// What was found on one page.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// What was found.
    pub items: Vec<T>,
    /// The number of promises that were examined.
    pub looked_at: u32,
    /// Where the next page begins; none: this was the last.
    pub next: Option<i64>,
}

/// A page of promises with all that belongs to them, and with the rows at the other ends of what
/// they refer to.
#[derive(Debug, Default)]
pub struct Examined {
    /// The rows.
    pub view: View,
    /// The promises of the page; what else the view holds is there for their sake and not
    /// complete.
    pub ids: Vec<PromiseId>,
    /// Rows that cannot be read, and why.
    pub unreadable: Vec<String>,
    /// Where the next page begins; none: this was the last.
    pub next: Option<i64>,
}

/// Reading a store as a whole.
#[async_trait]
pub trait Scan: Send + Sync {
    /// Candidates for a repair among the `limit` promises after `after`: their rows look as if they
    /// contradicted each other. A command decides whether they do.
    async fn candidates(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError>;

    /// Promises without a maker that had settled by `before`, among the `limit` after `after`.
    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError>;

    /// Everything about the `limit` promises after `after`; with a `maker`, of those that it made.
    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError>;

    /// Damage to the database itself, in the words of the database.
    async fn integrity(&self) -> Result<Vec<String>, StoreError>;

    /// Hands every row to `sink`, as of one instant.
    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError>;

    /// Hands executions with their journals, lines and the values that those refer to to `sink`, as
    /// of one instant: each promise once, parents before their children.
    async fn gather(
        &self,
        selection: &Selection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError>;

    /// The disk usage; of trees, modules and functions the `top` largest.
    async fn size(&self, top: u32) -> Result<SizeReport, StoreError>;
}
