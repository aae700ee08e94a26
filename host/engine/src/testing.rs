//! Fixtures that the tests of several modules share.

use std::sync::Arc;

use segno_core::config::Config;
use segno_env::Env;
use segno_guest::NoGuests;
use segno_store::MemoryStore;

use crate::{host::Host, notifier::CommitNotifier};

/// A host without workers, on a store in memory.
pub(crate) fn host() -> Host {
    let env = Env::system();
    let notifier = Arc::new(CommitNotifier::default());
    let config = Config::default();
    let store = MemoryStore::new(config.clone(), env.clone(), notifier.clone());
    Host::new(env, config, store, Arc::new(NoGuests), Arc::new(NoGuests), notifier)
}
