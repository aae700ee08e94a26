//! Databases that were away when the host started: each is opened when it answers, and gets what
//! every database has.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::time::Millis;
use segno_env::Env;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::postgres::{
    config::PostgresConfig,
    copied_rows::{copy_hosts, copy_modules},
    databases::StoreDatabases,
    open::{self, OpenedDatabase, PostgresOpenError},
    shard_row,
    time::DatabaseTime,
};

/// Pause between two attempts to open a database.
const PAUSE: Millis = Millis(1_000);

/// Opens the databases that were away when the host started.
pub(super) struct DatabaseArrivals {
    pub(super) away: Vec<PostgresConfig>,
    /// The databases that were here.
    pub(super) here: Vec<(PostgresConfig, OpenedDatabase)>,
    pub(super) databases: Arc<StoreDatabases>,
    /// Held for reading by a command that writes to every database that is here.
    pub(super) gate: Arc<RwLock<()>>,
    pub(super) time: Arc<DatabaseTime>,
    pub(super) env: Env,
    pub(super) closed: CancellationToken,
}

impl DatabaseArrivals {
    /// Runs until all databases are here.
    pub(super) async fn run(mut self) {
        let mut told = BTreeSet::new();
        while !self.away.is_empty() {
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.env.runtime.sleep(PAUSE) => {}
            }
            let mut away = Vec::with_capacity(self.away.len());
            for config in std::mem::take(&mut self.away) {
                match self.admit(&config).await {
                    Ok(database) => tracing::info!(
                        address = config.shown(),
                        "database {} answers, and is used from now on",
                        database + 1
                    ),
                    Err(refused) => {
                        let reason = refused.to_string();
                        if !refused.may_pass() && told.insert(reason.clone()) {
                            tracing::error!(
                                "{reason}; the database is not used until this is mended"
                            );
                        }
                        away.push(config);
                    }
                }
            }
            self.away = away;
        }
    }

    /// Opens a database, and copies to it what every database has. Returns its place.
    async fn admit(&self, config: &PostgresConfig) -> Result<usize, PostgresOpenError> {
        let mut config = config.clone();
        let opened = open::open_once(&mut config, &self.env).await?;
        let (store, database, map) = shard_row::part(&config, &opened).await?;
        let is_awaited = store == self.databases.store
            && database < self.databases.len()
            && self.databases.at(database).primary.is_withheld();
        if !is_awaited {
            return Err(PostgresOpenError::Shards {
                reason: format!("{} is not the database that this store lacks", config.shown()),
            });
        }
        let _alone = self.gate.write().await;
        let target = (config, opened);
        copy_modules(&self.here, std::slice::from_ref(&target)).await?;
        copy_hosts(&self.here, &target).await?;
        let (config, opened) = target;
        self.time.of_server(Some(opened.now), self.time.asking());
        self.databases.shards.advance(map);
        self.databases.at(database).admit(&config, &opened);
        Ok(database)
    }
}
