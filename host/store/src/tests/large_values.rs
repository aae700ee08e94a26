//! Large values are stored once, and go with the last one that contains them.

use std::path::Path;

use futures::future::join_all;
use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    promise::{NewPromise, Verdict},
    time::Timestamp,
    value::{Tags, Value},
};

use super::{HandClock, deploy, forgetful, new, postgres, sqlite};
use crate::Store;

/// A conversation of `turns` turns of 8 KiB: each contains the one before it.
fn conversation(turns: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut letter = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + (state >> 59) as u8 % 26
    };
    (0..turns * 8_192).map(|_| letter()).collect()
}

fn with(id: &str, data: Vec<u8>) -> NewPromise {
    NewPromise { param: Value::of(data), ..new(id, &[], Timestamp::NEVER) }
}

async fn param(store: &dyn Store, id: &str) -> Vec<u8> {
    let row = store.read().promise(&id.into()).await.expect("an answer").expect("it is there");
    row.promise.spec.param.data.to_vec()
}

async fn remove(store: &dyn Store, id: &str) {
    let settle = Command::PromiseSettle {
        id: id.into(),
        verdict: Verdict::Resolved,
        value: Value { headers: Tags::new(), data: conversation(12).into() },
    };
    let before = Timestamp::NEVER;
    let prune = Command::Prune { top: PromiseId::from(id), before, part: false, state: false };
    store.execute(vec![settle, prune]).await.expect("replies");
    assert!(store.read().promise(&id.into()).await.expect("an answer").is_none(), "{id} is gone");
}

/// Stored bytes of the chunks, and their number.
fn stored(dir: &Path) -> (i64, i64) {
    let database = rusqlite::Connection::open(dir.join("segno.db")).expect("it opens");
    let text = "SELECT coalesce(sum(length(data)), 0), count(*) FROM value_chunks";
    database.query_row(text, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a row")
}

#[tokio::test]
async fn a_value_that_grows_takes_the_size_of_what_is_new() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = sqlite(dir.path(), &HandClock::new(), &Config::default()).await;
    deploy(&*store).await;
    let lengths = || 9..=60;
    for turns in lengths() {
        let create = Command::PromiseCreate(with(&format!("c{turns}"), conversation(turns)));
        store.execute(vec![create]).await.expect("a reply");
    }
    let given: usize = lengths().map(|turns| conversation(turns).len()).sum();
    let (bytes, _) = stored(dir.path());
    let most = 3 * conversation(60).len() as i64;
    assert!(bytes < most, "{bytes} bytes for {given}");
    for turns in lengths() {
        assert_eq!(param(&*store, &format!("c{turns}")).await, conversation(turns));
    }
    for turns in lengths().rev().take(51) {
        remove(&*store, &format!("c{turns}")).await;
        assert_eq!(param(&*store, "c9").await, conversation(9));
    }
    remove(&*store, "c9").await;
    assert_eq!(stored(dir.path()), (0, 0));
}

#[tokio::test]
async fn a_damaged_chunk_spoils_only_the_values_that_contain_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = forgetful(dir.path(), &HandClock::new(), &Config::default()).await;
    deploy(&*store).await;
    let mut other = conversation(20);
    other.reverse();
    let create = |id: &str, data| Command::PromiseCreate(with(id, data));
    store.execute(vec![create("one", conversation(20))]).await.expect("a reply");
    store.execute(vec![create("other", other.clone())]).await.expect("a reply");
    for n in 0..9 {
        store.execute(vec![create(&format!("small{n}"), vec![n])]).await.expect("a reply");
    }
    let database = rusqlite::Connection::open(dir.path().join("segno.db")).expect("it opens");
    let damage = "UPDATE value_chunks SET data = zeroblob(bytes) WHERE digest IN
                  (SELECT digest FROM value_uses WHERE owner =
                      (SELECT 'p' || n FROM promises WHERE id = 'one') LIMIT 1)";
    assert_eq!(database.execute(damage, []).expect("it is damaged"), 1);
    let error = store.read().promise(&"one".into()).await.expect_err("it cannot be read");
    let error = format!("{:#}", anyhow::Error::from(error));
    assert!(error.contains("`one` is damaged: its param"), "{error}");
    assert_eq!(param(&*store, "other").await, other);
    let reply = store.execute(vec![Command::PromiseGet { id: "one".into() }]).await.expect("one");
    assert!(format!("{reply:?}").contains("damaged"), "{reply:?}");
}

/// Hosts that store and remove the same large value at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_store_and_remove_the_same_value_lose_nothing() {
    let Some(database) = postgres::database() else { return };
    let (clock, config) = (HandClock::new(), Config::default());
    let stores = join_all((0..3).map(|_| postgres::store(&database, &clock, &config))).await;
    deploy(&*stores[0]).await;
    let work = stores.iter().enumerate().map(async |(host, store)| {
        for round in 0..25 {
            let id = format!("h{host}-{round}");
            let create = Command::PromiseCreate(with(&id, conversation(10)));
            store.execute(vec![create]).await.expect("a reply");
            assert_eq!(param(&**store, &id).await, conversation(10));
            remove(&**store, &id).await;
        }
    });
    join_all(work).await;
    let damage = stores[0].scan().integrity().await.expect("an answer");
    assert_eq!(damage, Vec::<String>::new());
    for store in stores {
        store.close().await;
    }
}
