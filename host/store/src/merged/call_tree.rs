//! The call tree over several databases. The promises that an invocation made lie in its database;
//! those that name it in the tag `parent` may be in any.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{id::PromiseId, shard::ShardMap};

use super::MergedReads;
use crate::{
    CallTree, ChildRow, ParentCursor, Store, StoreError, TreeNeighbours,
    call_tree::{in_order, latest_in_order},
};

#[async_trait]
impl CallTree for MergedReads {
    async fn children(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let found = self
            .all(|member| async move { member.call_tree().children(parents, each).await })
            .await?;
        Ok(in_order(found.into_iter().flatten().collect(), each))
    }

    async fn latest(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let found = self
            .all(|member| async move { member.call_tree().latest(parents, each).await })
            .await?;
        Ok(latest_in_order(found.into_iter().flatten().collect(), each))
    }

    /// The database of a promise knows what its task awaits. Every database counts its own children
    /// of the promise.
    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<TreeNeighbours>>, StoreError> {
        if count == 0 {
            let ask = |member: Arc<dyn Store>, ids: Vec<PromiseId>| async move {
                member.call_tree().neighbours(&ids, 0, awaits).await
            };
            return self.grouped(ids, ShardMap::promise, ask, None).await;
        }
        let found = self
            .all(|member| async move { member.call_tree().neighbours(ids, count, awaits).await })
            .await?;
        let map = self.map().await;
        let mut merged: Vec<Option<TreeNeighbours>> = vec![None; ids.len()];
        for (database, found) in found.into_iter().enumerate() {
            for ((id, merged), found) in ids.iter().zip(&mut merged).zip(found) {
                let Some(found) = found else { continue };
                let before = merged.take().unwrap_or_default();
                let children = before.children.saturating_add(found.children).min(count);
                let known = if map.promise(id) == database { found } else { before };
                *merged = Some(TreeNeighbours { children, ..known });
            }
        }
        Ok(merged)
    }
}
