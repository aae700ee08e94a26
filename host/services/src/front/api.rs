//! State shared by the handlers of the ingress and the admin API.

use std::{ops::Deref, sync::Arc};

use segno_api::Api as NativeApi;
use tokio::sync::Semaphore;

use super::RestateSettings;
use crate::Services;

/// Maximum number of concurrent SQL queries of tools.
const QUERIES: usize = 4;

/// State of the routes: that of the native API, and the services. Cheap to clone.
#[derive(Clone)]
pub struct ServicesApi {
    /// The native API of the host.
    pub native: NativeApi,
    /// The registered deployments.
    pub services: Arc<Services>,
    /// Settings of the front end.
    pub settings: RestateSettings,
    /// Permits for SQL queries of tools. Each running query keeps its tables in memory.
    pub(super) queries: Arc<Semaphore>,
}

impl ServicesApi {
    /// A front end beside the native API of the host that these services joined.
    pub fn new(native: NativeApi, services: Arc<Services>) -> Self {
        let queries = Arc::new(Semaphore::new(QUERIES));
        Self { native, services, settings: RestateSettings::default(), queries }
    }
}

impl Deref for ServicesApi {
    type Target = NativeApi;

    fn deref(&self) -> &NativeApi {
        &self.native
    }
}
