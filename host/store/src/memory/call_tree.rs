//! Reads of the call tree from the model.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, tags};

use super::{MemoryStore, kept::MemoryContent, read::listed};
use crate::{
    CallTree, ChildRow, ParentCursor, PromiseRow, StoreError, TreeNeighbours, call_tree, limits,
};

#[async_trait]
impl CallTree for MemoryStore {
    async fn children(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        Ok(call_tree::in_order(self.kept().all_children(parents), each))
    }

    async fn latest(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError> {
        Ok(call_tree::latest_in_order(self.kept().all_children(parents), each))
    }

    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<TreeNeighbours>>, StoreError> {
        let kept = self.kept();
        let named = kept.named();
        let neighbours = |id: &PromiseId| {
            let number = kept.number(id);
            let waits = |other: &&PromiseId| kept.model.callback(other, id) == Some(false);
            let mut awaited: Vec<_> = kept.model.awaited_by(id).filter(waits).cloned().collect();
            awaited.sort_by_key(|other| kept.number(other));
            awaited.truncate(awaits as usize);
            let children = kept.children(id, &named).take(count as usize).count() as u32;
            let neighbours = TreeNeighbours { number, children, awaits: awaited };
            neighbours.is_found().then_some(neighbours)
        };
        Ok(ids.iter().map(neighbours).collect())
    }
}

impl MemoryContent {
    fn all_children(&self, parents: &[ParentCursor]) -> Vec<ChildRow> {
        let named = self.named();
        let mut children = Vec::new();
        for (place, parent) in parents.iter().enumerate() {
            for promise in self.children(&parent.id, &named) {
                let (id, number) = (promise.id(), self.number(promise.id()));
                let promise = listed(promise, limits::CHILD_BYTES);
                let row = PromiseRow { promise, task: self.model.task(id).cloned() };
                children.extend((number > parent.after).then_some(ChildRow {
                    parent: place,
                    number,
                    row,
                }));
            }
        }
        children
    }

    /// Promises made outside any claim, grouped by the parent that their tag names, unless they
    /// name themselves.
    fn named(&self) -> BTreeMap<&str, Vec<&Promise>> {
        let mut named: BTreeMap<&str, Vec<&Promise>> = BTreeMap::new();
        for promise in self.model.promises().filter(|promise| promise.spec.made_by.is_none()) {
            let parent = promise.spec.tags.get(tags::PARENT).map(String::as_str);
            if let Some(parent) = parent.filter(|parent| *parent != promise.id().as_str()) {
                named.entry(parent).or_default().push(promise);
            }
        }
        named
    }

    fn children<'a>(
        &'a self,
        parent: &'a PromiseId,
        named: &'a BTreeMap<&str, Vec<&'a Promise>>,
    ) -> impl Iterator<Item = &'a Promise> {
        let made = self.model.made_by(parent).filter_map(|id| self.model.promise(id));
        made.chain(named.get(parent.as_str()).into_iter().flatten().copied())
    }
}
