//! What the tests of several modules share.

use std::sync::Arc;

use segno_core::config::Config;
use segno_env::Surroundings;
use segno_guest::NoGuests;
use segno_store::MemoryStore;

use crate::{host::Host, hub::Hub};

/// A host without workers over a store in memory.
pub(crate) fn host() -> Host {
    let surroundings = Surroundings::system();
    let hub = Arc::new(Hub::default());
    let config = Config::default();
    Host {
        store: MemoryStore::new(config.clone(), surroundings.clone(), hub.clone()),
        surroundings,
        config: Arc::new(config),
        guests: Arc::new(NoGuests),
        outbound: Arc::new(NoGuests),
        hub,
    }
}
