//! What every store must do, over PostgreSQL, and what that store does on its own. Each test has a
//! database of its own.

mod absence;
mod append;
mod conformance;
mod crossing;
mod interrupted;
mod opening;
mod retention;
mod several;
mod switch_over;
mod tables;
mod waiting;

use std::sync::Arc;

use segno_core::config::Config;
use throwaway_postgres::{Cluster, Database};

use super::{HandClock, NoHints, env};
use crate::postgres::{OpenError, PostgresConfig, PostgresStore};

/// A new database, or none where PostgreSQL is not installed.
pub(super) fn database() -> Option<Database<'static>> {
    Cluster::shared().map(Cluster::database)
}

pub(super) fn config(url: &str) -> PostgresConfig {
    let mut config = PostgresConfig::new(url).expect("an address");
    config.server_time = false;
    config.spread = false;
    config
}

pub(super) async fn store(
    database: &Database<'_>,
    clock: &Arc<HandClock>,
    engine: &Config,
) -> Arc<PostgresStore> {
    open(&database.url(), clock, engine).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn open(
    url: &str,
    clock: &Arc<HandClock>,
    engine: &Config,
) -> Result<Arc<PostgresStore>, OpenError> {
    let hints = Arc::new(NoHints);
    PostgresStore::open(config(url), engine.clone(), env(clock), hints).await
}
