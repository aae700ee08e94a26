//! A store over several databases, each of which holds some of the shards.
//!
//! Every database has a writer of its own. Commands go to the writer of the first database whose
//! rows they name, whose batch joins the others as needed ([`super::batch`]). Reads are merged
//! ([`crate::merged`]).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use segno_core::{
    command::{Command, HeartbeatItem},
    config::Config,
    footprint::{Footprint, footprint},
    id::{Holder, HostName},
    reply::{HeartbeatResult, Reply},
    shard::{DatabaseIndex, HALTED, ShardMap},
    time::Millis,
};
use segno_env::Env;
use tokio_util::sync::CancellationToken;

use super::{
    PostgresConfig, PostgresOpenError, PostgresStore, ShardMoveError, SharedParts,
    batch::UNKNOWN_DATABASE,
    copied_modules::copy_modules,
    databases::StoreDatabases,
    in_doubt::InDoubtFinisher,
    open::{self, OpenedDatabase},
    shard_row,
    time::DatabaseTime,
    writer::HALTED_SHARD,
};
use crate::{
    CallTree, Hints, Modules, Read, Scan, Store, StoreError, WorkQueue,
    current_shards::CurrentShards,
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
    pub(super) time: Arc<DatabaseTime>,
    pub(super) env: Env,
    closed: CancellationToken,
}

impl ShardedStore {
    /// Opens the databases of a store, in any order, and migrates them to the current format.
    /// Databases that are no parts of a store yet become one.
    ///
    /// # Errors
    /// [`PostgresOpenError`], with the reason why they cannot be used.
    pub async fn open(
        configs: Vec<PostgresConfig>,
        engine: Config,
        env: Env,
        hints: Arc<dyn Hints>,
    ) -> Result<Arc<Self>, PostgresOpenError> {
        let uses_server_time = configs.iter().all(|config| config.server_time);
        let time = Arc::new(DatabaseTime::new(env.clock.clone(), uses_server_time));
        let mut opened = Vec::with_capacity(configs.len());
        for mut config in configs {
            let database = open::open(&mut config, &env).await?;
            time.of_server(Some(database.now), time.asking());
            opened.push((config, database));
        }
        let shards = shard_row::agree(&opened, env.runtime.nonce()).await?;
        let mut given: Vec<_> = opened.into_iter().map(Some).collect();
        let opened: Vec<(PostgresConfig, OpenedDatabase)> =
            shards.order.iter().filter_map(|place| given[*place].take()).collect();
        copy_modules(&opened).await?;
        let databases = opened.iter().map(|(config, of)| super::database(config, of, &env));
        let current = CurrentShards::new(shards.map);
        let databases = StoreDatabases::new(databases.collect(), current.clone(), shards.store);
        let shared = SharedParts {
            databases: Arc::new(databases),
            numbers: Arc::default(),
            time: time.clone(),
            engine,
            env: env.clone(),
            hints,
            closed: CancellationToken::new(),
        };
        let start = |(home, (config, of)): (DatabaseIndex, (PostgresConfig, OpenedDatabase))| {
            PostgresStore::start(config, &of, home, &shared)
        };
        let members: Vec<_> = opened.into_iter().enumerate().map(start).collect();
        InDoubtFinisher::start(
            shared.databases.clone(),
            time.clone(),
            env.clone(),
            shared.closed.clone(),
        );
        let stores = |members: &[Arc<PostgresStore>]| -> Vec<Arc<dyn Store>> {
            members.iter().map(|member| member.clone() as Arc<dyn Store>).collect()
        };
        let presence = DatabasePresence::new(stores(&members), env.clone());
        let of = |members: Vec<Arc<PostgresStore>>, for_clients| Self {
            reads: MergedReads::new(
                stores(&members),
                current.clone(),
                Some(shared.databases.clone()),
                presence.clone(),
            ),
            members,
            presence: presence.clone(),
            databases: shared.databases.clone(),
            for_clients,
            time: time.clone(),
            env: env.clone(),
            closed: shared.closed.clone(),
        };
        let clients = members.iter().filter_map(|member| member.for_clients.clone()).collect();
        Ok(Arc::new(of(members, Some(Arc::new(of(clients, None))))))
    }

    /// Checks that new databases can become one store: all are empty, and prepare transactions.
    ///
    /// # Errors
    /// [`PostgresOpenError`], with the database that cannot.
    pub(super) async fn check_new(
        configs: &[PostgresConfig],
        env: &Env,
    ) -> Result<(), PostgresOpenError> {
        let mut databases = Vec::with_capacity(configs.len());
        for mut config in configs.iter().cloned() {
            let opened = open::open(&mut config, env).await?;
            databases.push((config, opened));
        }
        shard_row::check_new(&databases).await
    }

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
        let opened = open::open(&mut config, &self.env).await.map_err(|error| refused(&error))?;
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

    /// The database where commands begin: the first of those whose rows they name. All have the
    /// modules, aliases and hosts.
    fn home(&self, commands: &[Command]) -> DatabaseIndex {
        let mut named = Footprint::default();
        commands.iter().for_each(|command| named.merge(footprint(command)));
        named.home(&self.databases.shards()).unwrap_or(0)
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
            if !named.split(&shards, 0).contains_key(&HALTED) {
                return Ok(());
            }
            if self.env.clock.elapsed().saturating_sub(began) > HALT_TIMEOUT {
                return Err(StoreError::Away { reason: HALTED_SHARD.to_owned() });
            }
            self.env.runtime.sleep(HALT_PAUSE).await;
            self.databases.renew().await;
        }
    }

    /// Extends claims in each database by itself: one that is away harms the claims in it alone.
    async fn heartbeat(
        &self,
        holder: Holder,
        items: Vec<HeartbeatItem>,
    ) -> Result<Reply, StoreError> {
        let shards = self.databases.shards.for_writes();
        let mut parts: BTreeMap<DatabaseIndex, (Vec<usize>, Vec<HeartbeatItem>)> = BTreeMap::new();
        let count = items.len();
        for (place, item) in items.into_iter().enumerate() {
            let part = parts.entry(shards.promise(&item.claim.id)).or_default();
            part.0.push(place);
            part.1.push(item);
        }
        // Leases in a shard that is being moved are extended when it has arrived.
        parts.remove(&HALTED);
        if parts.is_empty() {
            parts.insert(0, (Vec::new(), Vec::new()));
        }
        if let Some(unknown) = parts.keys().find(|database| **database >= self.members.len()) {
            self.member(*unknown)?;
        }
        let databases: Vec<_> = parts.keys().copied().collect();
        let replies = self.presence.send(&databases, |database| {
            let items = parts.get(&database).map(|(_, items)| items.clone()).unwrap_or_default();
            let command = Command::TaskHeartbeat { holder: holder.clone(), items };
            self.members[database].execute_locally(vec![command])
        });
        let mut results = vec![HeartbeatResult::Unanswered; count];
        let (mut refused, mut failed, mut is_answered) = (None, None, false);
        for (database, reply) in replies.await.into_iter().enumerate() {
            let places = parts.remove(&database).map(|(places, _)| places).unwrap_or_default();
            match reply.map(|reply| reply.map(|replies| replies.into_iter().next())) {
                Some(Ok(Some(Reply::Heartbeat(beats)))) => {
                    is_answered = true;
                    for (place, beat) in places.into_iter().zip(beats) {
                        results[place] = beat;
                    }
                }
                Some(Ok(Some(other))) => refused = Some(other),
                Some(Err(error)) => failed = Some(error),
                Some(Ok(None)) | None => {}
            }
        }
        match (refused, failed) {
            (Some(refused), _) => Ok(refused),
            (None, Some(error)) if !is_answered => Err(error),
            _ => Ok(Reply::Heartbeat(results)),
        }
    }

    /// Executes a command on what a worker holds, in each database by itself.
    async fn everywhere(&self, command: Command) -> Result<Reply, StoreError> {
        let ask =
            |database: DatabaseIndex| self.members[database].execute_locally(vec![command.clone()]);
        let databases: Vec<_> = (0..self.members.len()).collect();
        let (mut merged, mut failed): (Option<Reply>, _) = (None, None);
        for replies in self.presence.send(&databases, ask).await.into_iter().flatten() {
            let reply = match replies {
                Ok(replies) => replies.into_iter().next(),
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            merged = match (merged, reply) {
                (Some(Reply::Heartbeat(mut beats)), Some(Reply::Heartbeat(more))) => {
                    beats.extend(more);
                    Some(Reply::Heartbeat(beats))
                }
                (merged, reply) => merged.or(reply),
            };
        }
        match (merged, failed) {
            (Some(reply), _) => Ok(reply),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Reply::Done),
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
                commands.extend(other);
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

    fn missing(&self) -> Vec<String> {
        let missing = self.presence.left_out();
        missing.map(|database| self.databases.at(database).shown.clone()).collect()
    }

    async fn vacuum(&self) -> Result<bool, StoreError> {
        let each = try_join_all(self.members.iter().map(|member| member.vacuum())).await?;
        Ok(each.into_iter().any(|more| more))
    }

    async fn wipe(&self) -> Result<(), StoreError> {
        try_join_all(self.members.iter().map(|member| member.wipe())).await.map(drop)
    }

    async fn close(&self) {
        join_all(self.members.iter().map(|member| member.close())).await;
        self.closed.cancel();
    }
}
