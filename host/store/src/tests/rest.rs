//! The SQLite store releases its memory and log space when idle.

use std::sync::Arc;

use segno_core::{
    command::Command, config::Config, id::PromiseId, promise::NewPromise, time::Millis,
    value::Value,
};
use segno_env::{BoxFuture, Env, Runtime, SystemRuntime};
use tokio::sync::Mutex;

use super::{
    HandClock, NoHints, conformance::walk, coverage::Seen, create, deploy, memory, sqlite,
};
use crate::{
    Store,
    sqlite::{MemoryUse, SqliteConfig, SqliteStore},
};

/// Bytes per promise, and number of promises.
const BYTES: usize = 8 << 10;
const PROMISES: usize = 1_000;
/// Bytes of each kind that the store uses after that.
const MUCH: u64 = 4 << 20;

/// Serialises these tests: connections of one process share the pool of unused pages, and releasing
/// it affects all.
static PAGES: Mutex<()> = Mutex::const_new(());

/// A runtime whose sleeps are short.
struct Hasty;

impl Runtime for Hasty {
    fn spawn(&self, name: &'static str, task: BoxFuture<()>) {
        SystemRuntime.spawn(name, task);
    }

    fn sleep(&self, length: Millis) -> BoxFuture<()> {
        SystemRuntime.sleep(Millis(length.0 / 200))
    }

    fn nonce(&self) -> u64 {
        SystemRuntime.nonce()
    }
}

/// Writes and reads some megabytes.
async fn work(store: &dyn Store) {
    let ids: Vec<_> = (0..PROMISES).map(|number| PromiseId::new(format!("p{number}"))).collect();
    for some in ids.chunks(50) {
        let made = some.iter().map(|id| match create(id.as_str(), &[]) {
            Command::PromiseCreate(new) => {
                let param = Value { data: vec![7; BYTES].into(), ..Value::default() };
                Command::PromiseCreate(NewPromise { param, ..new })
            }
            other => other,
        });
        store.execute(made.collect()).await.expect("replies");
    }
    for some in ids.chunks(100) {
        let found = store.read().promises(some).await.expect("rows");
        assert!(found.iter().all(Option::is_some));
    }
}

/// Each connection keeps some pages: one per prepared statement, and the first page of the file.
fn is_little(held: MemoryUse) -> bool {
    let MemoryUse { row_bytes, writer_bytes, reader_bytes, log_bytes } = held;
    row_bytes == 0 && log_bytes == 0 && writer_bytes < 128 << 10 && reader_bytes < 512 << 10
}

fn holds_much(held: MemoryUse) -> bool {
    let MemoryUse { row_bytes, writer_bytes, reader_bytes, log_bytes } = held;
    [row_bytes, writer_bytes, reader_bytes, log_bytes].into_iter().any(|bytes| bytes > MUCH)
}

/// The resources in use; releases nothing.
async fn look(store: &SqliteStore) -> MemoryUse {
    store.rest(u64::MAX).await.expect("it says what it holds")
}

/// Releases all resources.
async fn rest(store: &SqliteStore) -> MemoryUse {
    store.rest(0).await.expect("it gives back what it holds")
}

#[tokio::test]
async fn what_was_held_is_given_back() {
    let _alone = PAGES.lock().await;
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), HandClock::new());
    let store = sqlite(dir.path(), &clock, &Config::default()).await;
    work(&*store).await;
    let held = rest(&store).await;
    assert!(held.row_bytes > MUCH && held.log_bytes > MUCH, "{held:?}");
    // All connections recycle each other's pages, so the writer's share varies.
    assert!(held.writer_bytes > 512 << 10, "{held:?}");
    assert!(is_little(rest(&store).await));
}

#[tokio::test]
async fn a_quiet_store_gives_back_what_it_holds_by_itself() {
    let _alone = PAGES.lock().await;
    let dir = tempfile::tempdir().expect("a directory");
    let sqlite = SqliteConfig { dir: dir.path().to_owned(), relaxed: true };
    let env = Env { clock: HandClock::new(), runtime: Arc::new(Hasty) };
    let store = SqliteStore::open(sqlite, Config::default(), env, Arc::new(NoHints));
    let store = store.await.expect("it opens");
    work(&*store).await;
    let mut held = look(&store).await;
    // This is an hour of the store's time.
    for _ in 0..180 {
        if !holds_much(held) {
            return;
        }
        SystemRuntime.sleep(Millis(100)).await;
        held = look(&store).await;
    }
    panic!("{held:?}");
}

#[tokio::test]
async fn a_store_that_gave_back_what_it_held_answers_as_before() {
    let _alone = PAGES.lock().await;
    let (dir, clock) = (tempfile::tempdir().expect("a directory"), HandClock::new());
    let config = Config::default();
    let model = memory(&clock, &config);
    let store = sqlite(dir.path(), &clock, &config).await;
    deploy(&*model).await;
    deploy(&*store).await;
    for seed in 200..230 {
        walk(&*model, &*store, &clock, seed, 10, &mut Seen::new()).await;
        rest(&store).await;
    }
}
