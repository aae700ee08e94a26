//! Modules of a store of several databases. Every database has a copy of each module and alias. The
//! first database decides which modules there are: it receives a module last, and loses it last.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use futures::future::try_join_all;
use segno_core::{
    id::{Digest, PromiseId},
    shard::DatabaseIndex,
    time::Timestamp,
};

use super::{MergedReads, scan::NUMBER_END};
use crate::{COUNTED, ModuleRow, Modules, NewModule, Store, StoreError};

impl MergedReads {
    /// The module `row` as it was put into `member`. `None` if it is not there any more, or if its
    /// facts cannot be read.
    async fn stored(
        &self,
        member: &dyn Store,
        row: &ModuleRow,
    ) -> Result<Option<NewModule>, StoreError> {
        let component = member.modules().component(row.digest).await?;
        // A page after the last promise has the facts of all modules.
        let page = member.scan().examine(None, NUMBER_END, 1).await?;
        let facts = page.view.module_facts(&row.digest).cloned();
        Ok(component.zip(facts).map(|(component, facts)| NewModule {
            digest: row.digest,
            component,
            description: row.description.clone(),
            facts,
            created_at: row.created_at,
        }))
    }

    /// Puts a module into these databases again.
    async fn put_back(
        &self,
        module: &NewModule,
        databases: &[DatabaseIndex],
    ) -> Result<(), StoreError> {
        let put = databases.iter().map(|database| async move {
            let put = self.members[*database].modules().put(module.clone()).await;
            put.map_err(|error| self.failure_of(*database, error))
        });
        try_join_all(put).await.map(drop)
    }
}

#[async_trait]
impl Modules for MergedReads {
    async fn put(&self, module: NewModule) -> Result<(), StoreError> {
        let others: Vec<DatabaseIndex> = (1..self.members.len()).collect();
        self.put_back(&module, &others).await?;
        self.put_back(&module, &[0]).await
    }

    /// Every database is asked until one has the component: after an interrupted upload or removal,
    /// some do not.
    async fn component(&self, digest: Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.any(|member| async move { member.modules().component(digest).await }).await
    }

    async fn named(&self, alias: &str) -> Result<Option<Digest>, StoreError> {
        let named =
            self.any(|member| async move { member.modules().named(alias).await.map(Some) }).await?;
        Ok(named.flatten())
    }

    async fn list(&self) -> Result<Vec<ModuleRow>, StoreError> {
        let list =
            self.any(|member| async move { member.modules().list().await.map(Some) }).await?;
        Ok(list.unwrap_or_default())
    }

    async fn in_use(&self) -> Result<BTreeMap<Digest, u64>, StoreError> {
        let mut in_use: BTreeMap<Digest, u64> = BTreeMap::new();
        // Those of a database that is away are not counted.
        let counts = self.present(|member| async move { member.modules().in_use().await }).await?;
        for (digest, count) in counts.into_iter().flatten() {
            let sum = in_use.entry(digest).or_default();
            *sum = (*sum + count).min(u64::from(COUNTED));
        }
        Ok(in_use)
    }

    async fn unfinished(&self, digest: Digest, limit: u32) -> Result<Vec<PromiseId>, StoreError> {
        let found = self.all(|member| async move {
            let ids = member.modules().unfinished(digest, limit).await?;
            let neighbours = member.call_tree().neighbours(&ids, 0, 0).await?;
            // An execution that was removed in between is no longer unfinished.
            let numbered = neighbours.into_iter().zip(ids);
            let numbered = numbered.filter_map(|(found, id)| Some((found?.number, id)));
            Ok(numbered.collect::<Vec<_>>())
        });
        let mut found: Vec<(i64, PromiseId)> = found.await?.into_iter().flatten().collect();
        found.sort_by_key(|(number, _)| *number);
        Ok(found.into_iter().map(|(_, id)| id).take(limit as usize).collect())
    }

    /// The databases lose the module one after the other. If one keeps it, those that have lost it
    /// receive it again.
    async fn remove(&self, digest: Digest, before: Timestamp) -> Result<bool, StoreError> {
        let rows = self.all(|member| async move { member.modules().list().await }).await?;
        let row = |rows: Vec<ModuleRow>| rows.into_iter().find(|row| row.digest == digest);
        let rows: Vec<Option<ModuleRow>> = rows.into_iter().map(row).collect();
        let having: Vec<DatabaseIndex> =
            rows.iter().enumerate().filter_map(|(at, row)| row.as_ref().map(|_| at)).collect();
        let (Some(first), Some(row)) = (having.first(), rows.iter().flatten().next()) else {
            return Ok(false);
        };
        let Some(module) = self.stored(&*self.members[*first], row).await? else {
            return Ok(false);
        };
        let mut lost = Vec::new();
        for database in having.into_iter().rev() {
            match self.members[database].modules().remove(digest, before).await {
                Ok(true) => lost.push(database),
                Ok(false) => {
                    self.put_back(&module, &lost).await?;
                    return Ok(false);
                }
                Err(error) => {
                    // It may have been removed all the same.
                    let is_open = matches!(error, StoreError::UnknownOutcome(_));
                    lost.extend(is_open.then_some(database));
                    if let Err(error) = self.put_back(&module, &lost).await {
                        tracing::warn!(%digest, %error, "a module is missing in a database: upload it again");
                    }
                    return Err(self.failure_of(database, error));
                }
            }
        }
        Ok(true)
    }
}
