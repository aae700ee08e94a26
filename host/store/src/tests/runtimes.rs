//! A runtime stays for as long as a source module needs it.

use std::sync::Arc;

use segno_core::{config::Config, id::Digest, source_module::SourceModule, time::Timestamp};

use super::{HandClock, memory, postgres, sqlite};
use crate::{NewModule, Store};

async fn stays_while_it_is_needed(store: &dyn Store) {
    let modules = store.modules();
    let runtime: Arc<[u8]> = Arc::from(&b"runtime"[..]);
    let digest = Digest::of(&runtime);
    let files = vec![("main.js".to_owned(), b"1".to_vec())];
    let source: Arc<[u8]> = SourceModule::new(digest, files).expect("a module").encode().into();
    let of_source = Digest::of(&source);
    for component in [runtime, source.clone()] {
        let module = NewModule::plain(Digest::of(&component), component, Timestamp(1));
        modules.put(module).await.expect("it is kept");
    }
    let remove = async |digest| modules.remove(digest, Timestamp(1)).await.expect("an answer");
    assert!(!remove(digest).await, "a module runs on it");
    let stored = modules.component(of_source).await.expect("an answer");
    assert_eq!(stored.as_deref(), Some(&source[..]));
    assert!(remove(of_source).await);
    assert!(remove(digest).await, "nothing runs on it any more");
}

#[tokio::test]
async fn a_runtime_stays_while_a_source_module_runs_on_it() {
    let (clock, config) = (HandClock::new(), Config::default());
    stays_while_it_is_needed(&*memory(&clock, &config)).await;
    let dir = tempfile::tempdir().expect("a directory");
    stays_while_it_is_needed(&*sqlite(dir.path(), &clock, &config).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_stays_while_a_source_module_runs_on_it_on_postgresql() {
    let Some(database) = postgres::database() else { return };
    let store = postgres::store(&database, &HandClock::new(), &Config::default()).await;
    stays_while_it_is_needed(&*store).await;
    store.close().await;
}
