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
mod presence;
mod read;
mod scan;
mod size;
mod work_queue;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use futures::future::try_join_all;
use segno_core::{
    shard::{DatabaseIndex, ShardMap},
    time::Millis,
};

use super::{
    Store, StoreError,
    archive::{ArchiveError, ArchiveSink},
    current_shards::CurrentShards,
};
pub(crate) use presence::DatabasePresence;

/// Maximum number of times that rows are read while shards move.
const READS_MAX: u32 = 50;

/// The reads of a store that consists of several databases.
pub(crate) struct MergedReads {
    /// The databases, in the order of the map.
    members: Vec<Arc<dyn Store>>,
    shards: CurrentShards,
    databases: Option<Arc<dyn MergedDatabases>>,
    presence: DatabasePresence,
    /// True if lists leave out databases that are away.
    is_partial: bool,
}

/// Actions on all databases of a store.
#[async_trait]
pub(crate) trait MergedDatabases: Send + Sync {
    /// Advances the map that the host knows, if there is a newer one.
    async fn renew(&self);

    /// Age of the oldest transaction over several databases that is prepared and not finished, as of
    /// the last look. Zero if there is none.
    fn in_doubt(&self) -> Millis;

    /// Looks for the oldest transaction over several databases that is prepared and not finished.
    /// Returns its age.
    async fn oldest_in_doubt(&self) -> Option<Millis>;

    /// Passes every row of all databases to `sink`, as those of one.
    async fn export(&self, sink: &mut dyn ArchiveSink) -> Result<(), ArchiveError>;
}

impl MergedReads {
    /// Reads over these databases. While a shard is moved, the host asks `databases` where it is.
    pub(crate) fn new(
        members: Vec<Arc<dyn Store>>,
        shards: CurrentShards,
        databases: Option<Arc<dyn MergedDatabases>>,
        presence: DatabasePresence,
    ) -> Self {
        Self { members, shards, databases, presence, is_partial: false }
    }

    /// The same reads, with lists that leave out databases that are away.
    pub(crate) fn partial(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// The current map.
    async fn map(&self) -> Arc<ShardMap> {
        let map = self.shards.get();
        match &self.databases {
            Some(databases) if map.moving.is_some() => {
                databases.renew().await;
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

    /// Asks the database that the map names, and again if the rows have moved in the meantime.
    async fn at<T, F>(
        &self,
        place: impl Fn(&ShardMap) -> DatabaseIndex,
        ask: impl Fn(Arc<dyn Store>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut database = place(&*self.map().await);
        loop {
            let answer = ask(self.member(database)?.clone()).await;
            let now = place(&*self.map().await);
            if now == database {
                return answer.map_err(|error| self.failure_of(database, error));
            }
            database = now;
        }
    }

    /// Reads with a map, and again if shards have moved in the meantime.
    async fn settled<T, F>(&self, read: impl Fn(Arc<ShardMap>) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut map = self.map().await;
        for _ in 0..READS_MAX {
            let answer = read(map.clone()).await?;
            let now = self.map().await;
            if now.places == map.places {
                return Ok(answer);
            }
            map = now;
        }
        Err(StoreError::Away {
            reason: "shards are being moved faster than they are read: try again".to_owned(),
        })
    }

    /// Asks every database at the same time, for a list.
    async fn listed<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        if self.is_partial { self.present(ask).await } else { self.all(ask).await }
    }

    /// Asks every database at the same time. Returns the answers in the order of the databases.
    async fn all<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        // Nothing is gained by asking the others.
        if let Some(database) = self.presence.left_out().next() {
            return Err(self.not_in_time(database));
        }
        self.settled(|_| {
            let asked = self.members.iter().enumerate().map(|(database, member)| {
                let answer = ask(member.clone());
                async move { answer.await.map_err(|error| self.failure_of(database, error)) }
            });
            try_join_all(asked)
        })
        .await
    }

    /// Asks every database at the same time. Returns the answers of those that answer in time; an
    /// error if none does, or if one fails otherwise.
    async fn present<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.settled(|_| {
            let asked = self.presence.read(|database| ask(self.members[database].clone()));
            async { self.answers_of_present(asked.await) }
        })
        .await
    }

    /// The answers of the databases that are not away.
    fn answers_of_present<T>(
        &self,
        asked: Vec<Option<Result<T, StoreError>>>,
    ) -> Result<Vec<T>, StoreError> {
        let (mut answers, mut away) = (Vec::with_capacity(asked.len()), None);
        for (database, answer) in asked.into_iter().enumerate() {
            let Some(answer) = answer else { continue };
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
    /// If lists leave out databases, `absent` is the answer for one that is away.
    async fn grouped<T: Clone, A, F>(
        &self,
        asked: &[T],
        database: impl Fn(&ShardMap, &T) -> DatabaseIndex,
        ask: impl Fn(Arc<dyn Store>, Vec<T>) -> F,
        absent: Option<fn() -> A>,
    ) -> Result<Vec<A>, StoreError>
    where
        F: Future<Output = Result<Vec<A>, StoreError>>,
    {
        let (database, ask) = (&database, &ask);
        self.settled(|map| async move {
            let mut groups: BTreeMap<DatabaseIndex, Vec<usize>> = BTreeMap::new();
            for (place, one) in asked.iter().enumerate() {
                groups.entry(database(&map, one)).or_default().push(place);
            }
            let mut asking = Vec::with_capacity(groups.len());
            for (database, places) in groups {
                let part = places.iter().map(|place| asked[*place].clone()).collect();
                let answers = ask(self.member(database)?.clone(), part);
                let absent = absent.filter(|_| self.is_partial);
                asking.push(async move {
                    let answers = match (answers.await, absent) {
                        (Err(StoreError::Away { .. }), Some(absent)) => {
                            places.iter().map(|_| absent()).collect()
                        }
                        (answers, _) => {
                            answers.map_err(|error| self.failure_of(database, error))?
                        }
                    };
                    Ok::<_, StoreError>(places.into_iter().zip(answers))
                });
            }
            let mut answers: Vec<(usize, A)> = Vec::with_capacity(asked.len());
            try_join_all(asking).await?.into_iter().for_each(|group| answers.extend(group));
            answers.sort_by_key(|(place, _)| *place);
            Ok(answers.into_iter().map(|(_, answer)| answer).collect())
        })
        .await
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

    /// Asks one database after the other, first those that answer, until one has a value. All have the
    /// same rows, apart from an interrupted change.
    async fn any<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> Result<Option<T>, StoreError>
    where
        F: Future<Output = Result<Option<T>, StoreError>>,
    {
        let order = self.presence.order();
        let (last, mut failed) = (order.len() - 1, None);
        for (place, database) in order.into_iter().enumerate() {
            let asked = ask(self.members[database].clone());
            let answer = match place == last {
                true => Some(asked.await),
                false => self.presence.patient(database, asked).await,
            };
            match answer {
                Some(Ok(Some(value))) => return Ok(Some(value)),
                Some(Ok(None)) => {}
                Some(Err(error)) => drop(failed.get_or_insert(self.failure_of(database, error))),
                None => drop(failed.get_or_insert(self.not_in_time(database))),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    fn not_in_time(&self, database: DatabaseIndex) -> StoreError {
        StoreError::Away { reason: format!("{} does not answer", self.name(database)) }
    }

    /// The name of a database in texts for people, who count from 1.
    fn name(&self, database: DatabaseIndex) -> String {
        format!("database {} of {}", database + 1, self.members.len())
    }
}
