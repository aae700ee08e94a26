//! Tests of the stores: common behaviour, and features of each.

mod archive;
mod call_tree;
pub(crate) mod conformance;
mod coverage;
mod databases;
mod durability;
mod full;
mod gathering;
mod hostile;
mod journal_buffer;
mod large_values;
mod limits;
mod pages;
mod postgres;
mod rest;
mod runs;
mod runtimes;
mod triggers;
pub(crate) mod work;

use std::{path::Path, sync::Arc};

use segno_core::{command::Command, config::Config, effect::Effect, time::Timestamp, view::View};
use segno_env::{Env, HandClock, SystemRuntime};

use super::{
    Hints, MemoryStore, Store,
    conformance::{self as scripts, MODULE, dice, new, script},
    sqlite::{SqliteConfig, SqliteOpenError, SqliteStore},
};

pub(crate) struct NoHints;

impl Hints for NoHints {
    fn committed(&self, _effects: &[Effect], _state: &View) {}
}

pub(crate) fn env(clock: &Arc<HandClock>) -> Env {
    Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) }
}

pub(crate) fn memory(clock: &Arc<HandClock>, config: &Config) -> Arc<MemoryStore> {
    MemoryStore::new(config.clone(), env(clock), Arc::new(NoHints))
}

/// A store in `dir` that does not sync: no test here simulates a power loss.
async fn sqlite(dir: &Path, clock: &Arc<HandClock>, config: &Config) -> Arc<SqliteStore> {
    open(dir, clock, config).await.expect("the data directory opens")
}

async fn open(
    dir: &Path,
    clock: &Arc<HandClock>,
    config: &Config,
) -> Result<Arc<SqliteStore>, SqliteOpenError> {
    let sqlite = SqliteConfig { dir: dir.to_owned(), relaxed: true };
    SqliteStore::open(sqlite, config.clone(), env(clock), Arc::new(NoHints)).await
}

/// A store with a minimal cache, so that it has to load rows again and again.
async fn forgetful(dir: &Path, clock: &Arc<HandClock>, config: &Config) -> Arc<SqliteStore> {
    let sqlite = SqliteConfig { dir: dir.to_owned(), relaxed: true };
    let (env, hints) = (env(clock), Arc::new(NoHints));
    SqliteStore::open_holding(3, sqlite, config.clone(), env, hints).await.expect("it opens")
}

pub(crate) async fn deploy(store: &dyn Store) {
    scripts::deploy(store).await.expect("a module is kept, and an alias is set");
}

pub(crate) fn create(id: &str, tags: &[(&str, &str)]) -> Command {
    Command::PromiseCreate(new(id, tags, Timestamp::NEVER))
}
