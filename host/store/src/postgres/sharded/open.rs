//! Opens a store of several databases.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{config::Config, shard::DatabaseIndex};
use segno_env::Env;
use tokio_util::sync::CancellationToken;

use super::{
    ShardedStore,
    arrivals::DatabaseArrivals,
    present_databases::{self, OpenedDatabases},
};
use crate::{
    Hints, Store,
    current_shards::CurrentShards,
    merged::{DatabasePresence, MergedDatabases, MergedReads},
    postgres::{
        PostgresConfig, PostgresOpenError, PostgresStore, SharedParts,
        copied_rows::copy_modules,
        database,
        databases::{StoreDatabase, StoreDatabases},
        in_doubt::InDoubtFinisher,
        open,
        shard_row::{self, StoreShards},
        time::DatabaseTime,
    },
};

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
        let OpenedDatabases { here, away } = present_databases::open_all(configs, &env).await?;
        for (_, opened) in &here {
            time.of_server(Some(opened.now), time.asking());
        }
        let missing: Vec<&str> = away.iter().map(PostgresConfig::shown).collect();
        let StoreShards { store, map, order } =
            shard_row::agree(&here, &missing, env.runtime.nonce()).await?;
        let missing = missing.join(" or ");
        copy_modules(&here, &here).await?;
        let place = |place: &Option<usize>| match place.map(|place| &here[place]) {
            Some((config, opened)) => database(config, opened, &env),
            None => StoreDatabase::withheld(env.clone(), missing.clone()),
        };
        let databases = order.iter().map(place).collect();
        let current = CurrentShards::new(map);
        let databases = Arc::new(StoreDatabases::new(databases, current.clone(), store));
        let shared = SharedParts {
            databases: databases.clone(),
            numbers: Arc::default(),
            time: time.clone(),
            engine,
            env: env.clone(),
            hints,
            closed: CancellationToken::new(),
        };
        let start = |home: DatabaseIndex| PostgresStore::start(&here[0].0, home, &shared);
        let members: Vec<_> = (0..order.len()).map(start).collect();
        let map = shared.databases.shards();
        if !map.is_single() && map.limits.is_none() && away.is_empty() {
            // If it fails, all limits are looked up for now.
            let _ = shared.databases.add_limits(&BTreeSet::new()).await;
        }
        let gate = Arc::default();
        if !away.is_empty() {
            tracing::warn!("{missing} does not answer; the host starts with the other databases");
            let arrivals = DatabaseArrivals {
                away,
                here,
                databases,
                gate: Arc::clone(&gate),
                time: time.clone(),
                env: env.clone(),
                closed: shared.closed.clone(),
            };
            env.runtime.spawn("store arrivals", Box::pin(arrivals.run()));
        }
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
        let withheld = (0..order.len()).filter(|database| order[*database].is_none());
        withheld.for_each(|database| presence.leave_out(database));
        let reads = |members: &[Arc<PostgresStore>]| {
            let databases = Some(shared.databases.clone() as Arc<dyn MergedDatabases>);
            MergedReads::new(stores(members), current.clone(), databases, presence.clone())
        };
        let of = |reads, members: &[Arc<PostgresStore>], for_clients, present| Self {
            reads,
            members: members.to_vec(),
            presence: presence.clone(),
            databases: shared.databases.clone(),
            for_clients,
            present,
            time: time.clone(),
            env: env.clone(),
            gate: gate.clone(),
            closed: shared.closed.clone(),
        };
        let clients: Vec<_> =
            members.iter().filter_map(|member| member.for_clients.clone()).collect();
        let present = of(reads(&clients).partial(), &clients, None, None);
        let clients = of(reads(&clients), &clients, None, Some(Arc::new(present)));
        Ok(Arc::new(of(reads(&members), &members, Some(Arc::new(clients)), None)))
    }

    /// Checks that new databases can become one store: all are empty, and prepare transactions.
    ///
    /// # Errors
    /// [`PostgresOpenError`], with the database that cannot.
    pub(in crate::postgres) async fn check_new(
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
}
