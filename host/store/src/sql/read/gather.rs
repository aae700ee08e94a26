//! Gathers executions over a connection with a snapshot transaction.

use segno_core::{
    id::{PromiseId, StreamId},
    invocation::Record,
    stream::{DurableStream, StreamChunk},
};

use super::{
    DatabaseSession as _, SqlDialect, call_tree, failed, journal, list, promises, streams,
};
use crate::{
    ChildRow, GatherError, GatherSelection, GatherSink, InvocationFilter, InvocationRow, LogRow,
    Page, ParentCursor, PromiseRow, StoreError, call_tree::in_order, gather::InstantView,
};

const NAME: &str = "gather executions";

struct ConnectionView<'a, D: SqlDialect>(&'a mut D::Connection);

/// Implements [`crate::Scan::gather`] within the snapshot of the transaction.
pub(crate) async fn gather<D: SqlDialect>(
    connection: &mut D::Connection,
    selection: &GatherSelection,
    sink: &mut dyn GatherSink,
) -> Result<(), GatherError> {
    connection.without_time_limit().await.map_err(failed::<D, _>(NAME))?;
    crate::gather::gather(&mut ConnectionView::<D>(connection), selection, sink).await
}

impl<D: SqlDialect> InstantView for ConnectionView<'_, D> {
    async fn promises(&mut self, ids: &[PromiseId]) -> Result<Vec<Option<PromiseRow>>, StoreError> {
        promises::promises(&mut *self.0, ids).await.map_err(failed::<D, _>(NAME))
    }

    /// Always reads unmerged records too: those of active claims may be anywhere in that snapshot,
    /// whatever is known of them now.
    async fn records(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<Record>, StoreError> {
        let records = journal::records(&mut *self.0, id, from, limit, true).await;
        records.map_err(failed::<D, _>(NAME))
    }

    async fn lines(
        &mut self,
        id: &PromiseId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<LogRow>, StoreError> {
        journal::logs(&mut *self.0, id, from, limit).await.map_err(failed::<D, _>(NAME))
    }

    async fn streams(&mut self, owner: &PromiseId) -> Result<Vec<DurableStream>, StoreError> {
        streams::of_execution(&mut *self.0, owner).await.map_err(failed::<D, _>(NAME))
    }

    async fn stream_items(
        &mut self,
        id: &StreamId,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<StreamChunk>, StoreError> {
        streams::data(&mut *self.0, id, from, bytes_max).await.map_err(failed::<D, _>(NAME))
    }

    async fn children(
        &mut self,
        parent: ParentCursor,
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let children = call_tree::children(&mut *self.0, &[parent], each, false).await;
        Ok(in_order(children.map_err(failed::<D, _>(NAME))?, each))
    }

    async fn list(&mut self, filter: &InvocationFilter) -> Result<Page<InvocationRow>, StoreError> {
        list::page(&mut *self.0, filter, None).await.map_err(failed::<D, _>(NAME))
    }
}
