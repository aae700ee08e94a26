//! The parts of a running host, as the API, the worker and the recovery driver share them.

use std::sync::Arc;

use segno_core::config::Config;

use crate::{
    guest::{Guests, Outbound},
    hub::Hub,
    runtime::Surroundings,
    store::Store,
};

/// Cheap to clone: everything is shared.
#[derive(Clone)]
pub struct Host {
    /// Time and tasks.
    pub surroundings: Surroundings,
    /// The engine's settings.
    pub config: Arc<Config>,
    /// Everything that matters.
    pub store: Arc<dyn Store>,
    /// Everything that can be run.
    pub guests: Arc<dyn Guests>,
    /// The way out for HTTP.
    pub outbound: Arc<dyn Outbound>,
    /// Hints of commits.
    pub hub: Arc<Hub>,
}
