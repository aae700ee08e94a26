//! Reads of a store that consists of several databases: the same reads, merged.
//!
//! A read by id goes to the database in which the id lies. A list asks every database and merges
//! the answers: promises have numbers that are unique over all databases and grow with time. No
//! instant is common to the databases, so a merged answer may contain a commit of one database and
//! miss an earlier one of another.

mod call_tree;
mod dump;
mod modules;
mod page;
mod read;
mod scan;
mod size;
mod work_queue;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use segno_core::{
    id::{ObjectId, PromiseId, ScheduleId, StreamId},
    limit::LimitName,
    shard::{DatabaseIndex, ShardMap},
};

use super::{Store, StoreError, current_shards::CurrentShards};

/// The reads of a store that consists of several databases.
pub(crate) struct MergedReads {
    /// The databases, in the order of the map.
    members: Vec<Arc<dyn Store>>,
    shards: CurrentShards,
    renewal: Option<Arc<dyn ShardRenewal>>,
}

/// Reads the map of the shards again.
#[async_trait]
pub(crate) trait ShardRenewal: Send + Sync {
    /// Advances the map that the host knows, if there is a newer one.
    async fn renew(&self);
}

impl MergedReads {
    /// Reads over these databases. While a shard is moved, `renewal` finds out where it is.
    pub(crate) fn new(
        members: Vec<Arc<dyn Store>>,
        shards: CurrentShards,
        renewal: Option<Arc<dyn ShardRenewal>>,
    ) -> Self {
        Self { members, shards, renewal }
    }

    /// The current map.
    async fn map(&self) -> Arc<ShardMap> {
        let map = self.shards.get();
        match &self.renewal {
            Some(renewal) if map.moving.is_some() => {
                renewal.renew().await;
                self.shards.get()
            }
            _ => map,
        }
    }

    /// The database with this index. An error if this host does not know it.
    fn member(&self, database: DatabaseIndex) -> Result<&Arc<dyn Store>, StoreError> {
        self.members.get(database).ok_or_else(|| StoreError::Unavailable {
            reason: format!(
                "a row is in database {}, and this host was started with {}: start it again with all of them",
                database + 1,
                self.members.len()
            ),
        })
    }

    async fn of_promise(&self, id: &PromiseId) -> Result<&Arc<dyn Store>, StoreError> {
        self.member(self.map().await.promise(id))
    }

    async fn of_stream(&self, id: &StreamId) -> Result<&Arc<dyn Store>, StoreError> {
        self.member(self.map().await.stream(id))
    }

    async fn of_object(&self, id: &ObjectId) -> Result<&Arc<dyn Store>, StoreError> {
        self.member(self.map().await.object(id))
    }

    async fn of_schedule(&self, id: &ScheduleId) -> Result<&Arc<dyn Store>, StoreError> {
        self.member(self.map().await.schedule(id))
    }

    async fn of_limit(&self, name: &LimitName) -> Result<&Arc<dyn Store>, StoreError> {
        self.member(self.map().await.limit(name))
    }

    /// Asks every database at the same time. Returns the answers in the order of the databases.
    async fn all<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let asked = self.members.iter().enumerate().map(|(database, member)| {
            let answer = ask(member.clone());
            async move { answer.await.map_err(|error| self.failure_of(database, error)) }
        });
        try_join_all(asked).await
    }

    /// Asks every database at the same time. Returns the answers of those that are not away; an
    /// error if all are away, or if one fails otherwise.
    async fn present<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let asked = join_all(self.members.iter().cloned().map(ask)).await;
        let (mut answers, mut away) = (Vec::with_capacity(asked.len()), None);
        for (database, answer) in asked.into_iter().enumerate() {
            match answer.map_err(|error| self.failure_of(database, error)) {
                Ok(answer) => answers.push(answer),
                Err(error @ StoreError::Away { .. }) => {
                    tracing::debug!(%error, "the work of the other databases goes on");
                    away.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match away {
            Some(error) if answers.is_empty() => Err(error),
            _ => Ok(answers),
        }
    }

    /// Asks each database for its part of `asked`, and returns the answers in the order of `asked`.
    async fn grouped<T: Clone, A, F>(
        &self,
        asked: &[T],
        database: impl Fn(&ShardMap, &T) -> DatabaseIndex,
        ask: impl Fn(Arc<dyn Store>, Vec<T>) -> F,
    ) -> Result<Vec<A>, StoreError>
    where
        F: Future<Output = Result<Vec<A>, StoreError>>,
    {
        let map = self.map().await;
        let mut groups: BTreeMap<DatabaseIndex, Vec<usize>> = BTreeMap::new();
        for (place, one) in asked.iter().enumerate() {
            groups.entry(database(&map, one)).or_default().push(place);
        }
        let mut asking = Vec::with_capacity(groups.len());
        for (database, places) in groups {
            let part = places.iter().map(|place| asked[*place].clone()).collect();
            let answers = ask(self.member(database)?.clone(), part);
            asking.push(async move {
                let answers = answers.await.map_err(|error| self.failure_of(database, error))?;
                Ok::<_, StoreError>(places.into_iter().zip(answers))
            });
        }
        let mut answers: Vec<(usize, A)> = Vec::with_capacity(asked.len());
        try_join_all(asking).await?.into_iter().for_each(|group| answers.extend(group));
        answers.sort_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Adds the number of the database to an error that says what the operator has to look at.
    fn failure_of(&self, database: DatabaseIndex, error: StoreError) -> StoreError {
        let name = self.name(database);
        match error {
            StoreError::Away { reason } => {
                StoreError::Away { reason: format!("{name} does not answer: {reason}") }
            }
            StoreError::Unavailable { reason } => {
                StoreError::Unavailable { reason: format!("{name}: {reason}") }
            }
            other => other,
        }
    }

    /// The name of a database in texts for people, who count from 1.
    fn name(&self, database: DatabaseIndex) -> String {
        format!("database {} of {}", database + 1, self.members.len())
    }
}
