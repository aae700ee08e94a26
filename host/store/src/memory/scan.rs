//! Reads of the whole store: repair candidates, finished promises, sizes.

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Timestamp};

use super::MemoryStore;
use crate::{
    ExaminedPage, GatherError, GatherSelection, GatherSink, LimitCount, PartSize, Scan, ScanPage,
    SizeReport, StoreError, TreeSize,
    archive::{ArchiveError, ArchiveSink},
    gather::{self, SuccessiveReads},
    size::TreeSizes,
};

#[async_trait]
impl Scan for MemoryStore {
    async fn candidates(&self, after: i64, limit: u32) -> Result<ScanPage<PromiseId>, StoreError> {
        let kept = self.kept();
        let (ids, next) = kept.page(after, limit);
        let looked_at = ids.len() as u32;
        Ok(ScanPage { items: ids, looked_at, next })
    }

    async fn finished(
        &self,
        after: i64,
        limit: u32,
        before: Timestamp,
    ) -> Result<ScanPage<Promise>, StoreError> {
        let kept = self.kept();
        let (ids, next) = kept.page(after, limit);
        let looked_at = ids.len() as u32;
        let promises = ids.iter().filter_map(|id| kept.model.promise(id)).filter(|promise| {
            promise.spec.made_by.is_none()
                && promise.settlement().is_some_and(|settled| settled.settled_at <= before)
        });
        Ok(ScanPage { items: promises.cloned().collect(), looked_at, next })
    }

    async fn examine(
        &self,
        maker: Option<&PromiseId>,
        after: i64,
        limit: u32,
    ) -> Result<ExaminedPage, StoreError> {
        let kept = self.kept();
        let (ids, next) = match maker {
            None => kept.page(after, limit),
            Some(maker) => {
                let made = kept.model.made_by(maker).map(|id| kept.number(id));
                let mut made: Vec<i64> = made.filter(|number| *number > after).collect();
                made.sort_unstable();
                let next = made.get(limit as usize - 1).copied();
                made.truncate(limit as usize);
                (made.iter().filter_map(|number| kept.numbers.get(number).cloned()).collect(), next)
            }
        };
        Ok(ExaminedPage { view: (**kept.model).clone(), ids, next, unreadable: Vec::new() })
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn limit_counts(&self) -> Result<Vec<LimitCount>, StoreError> {
        Ok(Vec::new())
    }

    async fn export(&self, _van: &mut dyn ArchiveSink) -> Result<(), ArchiveError> {
        Err(ArchiveError::Place("a store in memory has no tables to move".to_owned()))
    }

    async fn gather(
        &self,
        selection: &GatherSelection,
        sink: &mut dyn GatherSink,
    ) -> Result<(), GatherError> {
        let copied = self.copied();
        gather::gather(&mut SuccessiveReads(&copied), selection, sink).await
    }

    async fn size(&self, top: u32) -> Result<SizeReport, StoreError> {
        let kept = self.kept();
        let mut forest = TreeSizes::default();
        for (number, id) in &kept.numbers {
            let Some(promise) = kept.model.promise(id) else { continue };
            let value = promise.settlement().and_then(|settled| settled.value.as_ref());
            let bytes = promise.spec.param.data.len() + value.map_or(0, |value| value.data.len());
            let maker = promise.spec.made_by.as_ref().map(|maker| kept.number(maker));
            forest.add(*number, maker, !promise.is_pending(), bytes as u64);
        }
        let name =
            |number: &i64| kept.numbers.get(number).map_or_else(String::new, ToString::to_string);
        let trees = forest.largest(top).into_iter();
        let trees: Vec<_> =
            trees.map(|(root, tree)| TreeSize { id: name(&root), ..tree }).collect();
        let bytes = trees.iter().map(|tree| tree.bytes).sum();
        let parts =
            vec![PartSize { name: "promises".to_owned(), rows: kept.numbers.len() as u64, bytes }];
        Ok(SizeReport { bytes, parts, trees, ..SizeReport::default() })
    }
}
