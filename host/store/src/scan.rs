//! Looking over a whole store, a page at a time: what the recovery driver, `segno doctor`, `size` and `export` read.
//!
//! Pages go in the order of creation. None of them is proportional to the store.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, state::State, time::Timestamp};

use super::{
    SizeReport, StoreError,
    archive::{ArchiveError, ArchiveSink},
};

/// What a look at one page found.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// What was found.
    pub items: Vec<T>,
    /// Promises looked at.
    pub looked_at: u32,
    /// Where the next page begins; none: this was the last.
    pub next: Option<i64>,
}

/// A page of promises with all that belongs to them, and with the rows at the other ends of what they refer to.
#[derive(Debug, Default)]
pub struct Examined {
    /// The rows.
    pub state: State,
    /// The promises of the page; what else the state holds is there for their sake and not complete.
    pub ids: Vec<PromiseId>,
    /// Rows that cannot be read, and why.
    pub unreadable: Vec<String>,
    /// Where the next page begins; none: this was the last.
    pub next: Option<i64>,
}

/// Reading a store as a whole.
#[async_trait]
pub trait Scan: Send + Sync {
    /// Promises whose rows look as if they contradicted each other, among the `limit` after `after`. It is for a
    /// command to say whether they do.
    async fn candidates(&self, after: i64, limit: u32) -> Result<Found<PromiseId>, StoreError>;

    /// Promises that nobody made under a claim and that have settled by `before`, among the `limit` after `after`.
    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<Found<Promise>, StoreError>;

    /// Everything about the `limit` promises after `after`; of those that `maker` made, if one is given.
    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<Examined, StoreError>;

    /// Damage to the database itself, as the database finds it, in words.
    async fn integrity(&self) -> Result<Vec<String>, StoreError>;

    /// Hands everything to `sink`, as it is at one instant.
    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError>;

    /// What takes the room; of trees, modules and functions the `top` largest.
    async fn size(&self, top: u32) -> Result<SizeReport, StoreError>;
}
