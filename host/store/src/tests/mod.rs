//! Tests of the stores: common behaviour, and features of each.

mod admissions;
mod archive;
mod conformance;
mod coverage;
mod durability;
mod full;
mod gathering;
mod hostile;
mod journal_buffer;
mod limits;
mod pages;
mod postgres;
mod rest;
mod runs;
mod runtimes;
mod script;
mod streams;
mod triggers;
mod work;

use std::{path::Path, sync::Arc};

use segno_core::{
    command::Command,
    config::Config,
    effect::Effect,
    id::Digest,
    promise::NewPromise,
    time::Timestamp,
    value::{Tags, Value},
    view::View,
};
use segno_env::{Env, HandClock, SystemRuntime};

use super::{
    Hints, MemoryStore, NewModule, Store,
    sqlite::{SqliteConfig, SqliteOpenError, SqliteStore},
};

/// The component of the module with the tests' functions.
const COMPONENT: &[u8] = b"component";
/// The digest of [`COMPONENT`].
const MODULE: Digest = Digest([
    0x69, 0x85, 0xca, 0x1f, 0x4d, 0xaa, 0x5a, 0x58, 0x4a, 0x28, 0xea, 0xe0, 0x43, 0xa2, 0x39, 0xcb,
    0x96, 0x68, 0x9a, 0xf1, 0x33, 0x7e, 0xa1, 0x3a, 0xfb, 0x63, 0xe0, 0x0c, 0x2b, 0xf5, 0x12, 0xfa,
]);

pub(crate) struct NoHints;

impl Hints for NoHints {
    fn committed(&self, _effects: &[Effect], _state: &View) {}
}

fn env(clock: &Arc<HandClock>) -> Env {
    Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) }
}

fn memory(clock: &Arc<HandClock>, config: &Config) -> Arc<MemoryStore> {
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

async fn deploy(store: &dyn Store) {
    let component: Arc<[u8]> = Arc::from(COMPONENT);
    assert_eq!(Digest::of(&component), MODULE);
    let now = Timestamp(1_000);
    store
        .modules()
        .put(NewModule { facts: admissions::facts(), ..NewModule::plain(MODULE, component, now) })
        .await
        .expect("a component is kept");
    let command = Command::Deploy { alias: "shop".into(), module: MODULE };
    store.execute(vec![command]).await.expect("an alias is set");
}

fn new(id: &str, tags: &[(&str, &str)], timeout_at: Timestamp) -> NewPromise {
    let tags: Tags =
        tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    NewPromise { id: id.into(), param: Value::of(id.as_bytes()), tags, timeout_at }
}

fn create(id: &str, tags: &[(&str, &str)]) -> Command {
    Command::PromiseCreate(new(id, tags, Timestamp::NEVER))
}
