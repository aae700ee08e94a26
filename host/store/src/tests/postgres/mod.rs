//! Tests of the PostgreSQL store: common behaviour, and its own features. Each test uses a separate
//! database.

mod absence;
mod append;
mod conformance;
mod crossing;
mod interrupted;
mod late;
mod opening;
mod pooled;
mod retention;
mod several;
mod strict;
mod switch_over;
mod tables;
mod waiting;

use std::sync::Arc;

use segno_core::config::Config;
use throwaway_postgres::{Cluster, Database};

use super::{HandClock, NoHints, env};
use crate::postgres::{PostgresConfig, PostgresOpenError, PostgresStore};

/// A new database. `None` if PostgreSQL is not installed.
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

pub(super) async fn open(
    url: &str,
    clock: &Arc<HandClock>,
    engine: &Config,
) -> Result<Arc<PostgresStore>, PostgresOpenError> {
    let hints = Arc::new(NoHints);
    PostgresStore::open(config(url), engine.clone(), env(clock), hints).await
}
