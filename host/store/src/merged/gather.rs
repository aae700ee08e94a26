//! Gathers executions from several databases.

use segno_core::{
    id::{PromiseId, StreamId},
    invocation::Record,
    stream::{DurableStream, StreamChunk},
};

use super::MergedReads;
use crate::{
    CallTree as _, ChildRow, InvocationFilter, InvocationRow, LogRow, Page, ParentCursor,
    PromiseRow, Read as _, StoreError, gather::InstantView,
};

/// The databases as they are at each read: there is no instant that they share.
pub(super) struct MergedView<'a>(pub(super) &'a MergedReads);

impl InstantView for MergedView<'_> {
    async fn promises(&mut self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        self.0.promises(ids).await
    }

    async fn records(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        self.0.journal(id, from, limit).await
    }

    async fn lines(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<LogRow>, StoreError> {
        self.0.logs(id, from, limit).await
    }

    async fn streams(&mut self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        self.0.streams_of(owner).await
    }

    async fn stream_items(
        &mut self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        self.0.stream_data(id, from, bytes_max).await
    }

    async fn children(
        &mut self,
        parent: ParentCursor,
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        self.0.children(&[parent], each).await
    }

    async fn list(&mut self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        self.0.list(filter).await
    }
}
