//! A store over several databases, each of which holds some of the shards.
//!
//! Every database has a writer of its own. Commands go to the writer of the first database whose
//! rows they name, whose batch joins the others as needed ([`super::batch`]). Reads are merged
//! ([`crate::merged`]).

mod arrivals;
mod beats;
mod open;
mod present_databases;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::{OptionFuture, join_all, try_join_all};
use segno_core::{
    command::Command,
    footprint::{Footprint, footprint},
    id::HostName,
    reply::Reply,
    shard::{DatabaseIndex, HALTED, ShardMap},
    time::Millis,
};
use segno_env::Env;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::{
    PostgresConfig, PostgresStore, ShardMoveError, batch::UNKNOWN_DATABASE,
    databases::StoreDatabases, open as opened_database, shard_row, time::DatabaseTime,
    writer::HALTED_SHARD,
};
use crate::{
    CallTree, Modules, Read, Scan, Store, StoreError, WorkQueue,
    merged::{DatabasePresence, MergedDatabases as _, MergedReads},
};

/// Maximum time for which a command waits for a shard that is being moved.
const HALT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before it is looked again.
const HALT_PAUSE: Millis = Millis(20);

/// A store in several databases shared with other hosts.
pub struct ShardedStore {
    members: Vec<Arc<PostgresStore>>,
    pub(super) databases: Arc<StoreDatabases>,
    reads: MergedReads,
    presence: DatabasePresence,
    /// The same store over the clients' connections; `None` in that store itself.
    for_clients: Option<Arc<Self>>,
    /// The same store for lists that leave out databases; `None` in that store itself.
    present: Option<Arc<Self>>,
    pub(super) time: Arc<DatabaseTime>,
    pub(super) env: Env,
    /// Held by the start of a host, so that no database arrives in the middle of it.
    gate: Arc<RwLock<()>>,
    closed: CancellationToken,
}

impl ShardedStore {
    /// The databases' clock, for everything that the host schedules.
    pub fn time(&self) -> Arc<DatabaseTime> {
        self.time.clone()
    }

    /// Cancels `superseded` when an incarnation of `node` newer than `incarnation` has started.
    pub fn watch_incarnation(
        &self,
        node: &HostName,
        incarnation: u64,
        superseded: &CancellationToken,
    ) {
        for member in &self.members {
            member.watch_incarnation(node.clone(), incarnation, superseded.clone());
        }
    }

    /// The addresses of the databases, without passwords, in the order of the map.
    pub fn addresses(&self) -> Vec<String> {
        self.databases.iter().map(|database| database.shown.clone()).collect()
    }

    /// Adds an empty database to the store. Returns its number, from 1.
    ///
    /// # Errors
    /// The reason that it cannot be added; the store is then as it was.
    pub async fn add_database(&self, address: &str) -> Result<usize, ShardMoveError> {
        let refused = |error: &dyn std::fmt::Display| ShardMoveError::Unknown(error.to_string());
        let mut config = PostgresConfig::new(address).map_err(|error| refused(&error))?;
        let opened =
            opened_database::open(&mut config, &self.env).await.map_err(|error| refused(&error))?;
        let map = self.newest_map().await?;
        let database = map.database_count();
        let added = ShardMap { databases: map.databases + 1, ..map };
        let joined =
            shard_row::join(&config, &opened, self.databases.store, database, &added).await;
        joined.map_err(|error| refused(&error))?;
        self.put_map(added, 0).await?;
        Ok(database + 1)
    }

    /// The age of the oldest transaction over several databases that is prepared and not finished.
    pub async fn oldest_in_doubt(&self) -> Option<Millis> {
        self.databases.oldest_in_doubt().await
    }

    /// The part of the store that serves a database.
    fn member(&self, database: DatabaseIndex) -> Result<&Arc<PostgresStore>, StoreError> {
        self.members
            .get(database)
            .ok_or_else(|| StoreError::Unavailable { reason: UNKNOWN_DATABASE.to_owned() })
    }

    /// The database where commands begin: the first of those whose rows they name, if possible one
    /// that answers. All have the modules, aliases and hosts.
    fn home(&self, commands: &[Command]) -> DatabaseIndex {
        let mut named = Footprint::default();
        commands.iter().for_each(|command| named.merge(footprint(command)));
        let homes = named.homes(&self.databases.shards());
        let here = homes.iter().find(|home| !self.presence.is_left_out(**home));
        let home = here.or(homes.first()).copied();
        home.unwrap_or_else(|| self.databases.first_opened())
    }

    /// Waits while a shard that the commands name is moved.
    async fn wait_for_move(&self, commands: &[Command]) -> Result<(), StoreError> {
        let began = self.env.clock.elapsed();
        loop {
            let shards = self.databases.shards.for_writes();
            if !shards.moving.as_ref().is_some_and(|moves| moves.is_halted) {
                return Ok(());
            }
            let mut named = Footprint::default();
            commands.iter().for_each(|command| named.merge(footprint(command)));
            if !named.databases(&shards).contains(&HALTED) {
                return Ok(());
            }
            if self.env.clock.elapsed().saturating_sub(began) > HALT_TIMEOUT {
                return Err(StoreError::Away { reason: HALTED_SHARD.to_owned() });
            }
            self.env.runtime.sleep(HALT_PAUSE).await;
            self.databases.renew().await;
        }
    }
}

#[async_trait]
impl Store for ShardedStore {
    async fn execute(&self, mut commands: Vec<Command>) -> Result<Vec<Reply>, StoreError> {
        let alone = if commands.len() == 1 { commands.pop() } else { None };
        let reply = match alone {
            Some(Command::TaskHeartbeat { holder, items }) => self.heartbeat(holder, items).await?,
            Some(command @ (Command::WorkerHeartbeat { .. } | Command::WorkerGone { .. })) => {
                self.everywhere(command).await?
            }
            other => {
                let starts = matches!(other, Some(Command::HostStart { .. }));
                commands.extend(other);
                let _gate: Option<_> = OptionFuture::from(starts.then(|| self.gate.read())).await;
                self.wait_for_move(&commands).await?;
                let home = self.home(&commands);
                if self.databases.shards().moving.is_none() {
                    return self.member(home)?.execute(commands).await;
                }
                // The shard may be halted by now.
                return match self.member(home)?.execute(commands.clone()).await {
                    Err(StoreError::Away { reason }) if reason == HALTED_SHARD => {
                        self.wait_for_move(&commands).await?;
                        self.member(self.home(&commands))?.execute(commands).await
                    }
                    replies => replies,
                };
            }
        };
        Ok(vec![reply])
    }

    fn read(&self) -> &dyn Read {
        &self.reads
    }

    fn work_queue(&self) -> &dyn WorkQueue {
        &self.reads
    }

    fn scan(&self) -> &dyn Scan {
        &self.reads
    }

    fn call_tree(&self) -> &dyn CallTree {
        &self.reads
    }

    fn modules(&self) -> &dyn Modules {
        &self.reads
    }

    fn for_clients(&self) -> Option<Arc<dyn Store>> {
        self.for_clients.clone().map(|store| store as Arc<dyn Store>)
    }

    /// Checks that one of the databases takes writes: the executions in it go on.
    async fn check_writes(&self) -> Result<(), StoreError> {
        let checks = self.presence.read(|database| self.members[database].check_writes()).await;
        let mut refused = Ok(());
        for check in checks.into_iter().flatten() {
            match check {
                Ok(()) => return Ok(()),
                Err(error) => refused = Err(error),
            }
        }
        refused
    }

    fn present(&self) -> Option<Arc<dyn Store>> {
        self.present.clone().map(|store| store as Arc<dyn Store>)
    }

    fn missing(&self) -> Vec<String> {
        let missing = self.presence.left_out();
        missing.map(|database| self.databases.at(database).shown.clone()).collect()
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        let each = self.presence.read(|database| self.members[database].vacuum()).await;
        let mut more = false;
        for vacuumed in each.into_iter().flatten() {
            match vacuumed {
                Ok(has_more) => more |= has_more,
                // Its space is returned when it is back.
                Err(StoreError::Away { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(more)
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        try_join_all(self.members.iter().map(|member| member.wipe())).await.map(drop)
    }

    async fn close(&self) {
        join_all(self.members.iter().map(|member| member.close())).await;
        self.closed.cancel();
    }
}
