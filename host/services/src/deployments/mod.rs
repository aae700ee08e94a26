//! Services in external deployments: the registered deployments, and the connections to them.
//!
//! A deployment is stored like a module. Its registration document is the component, and the digest
//! of the document is its name. Each of its services is an alias (`restate:SERVICE`) for the
//! deployment that receives new invocations.

mod attempts;
mod change;
mod connector;
mod deployment;
mod failed_attempt;
pub mod frames;
mod http;
pub mod identity;
pub mod ids;
mod keep_rule;
pub mod outcome;
mod pauses;
mod protocol;
mod retention;
pub mod signals;
pub mod state_names;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use segno_core::{
    address::{service_alias, service_of_alias},
    id::Digest,
    time::{Millis, Timestamp},
};
use segno_engine::{
    host::Host,
    recovery::retention::{Retention, RetentionPeriod},
};
use segno_env::Env;
use segno_store::{Store, StoreError};

use crate::run::WaitCache;

pub use self::{
    attempts::{HandlerRetryPolicy, Timeouts},
    change::ServiceChange,
    connector::{
        AttemptRequest, ConnectError, Connector, DeploymentAddress, DeploymentAnswer, Exchange,
        NoConnector, ResponseStream,
    },
    deployment::{
        Deployment, HandlerConcurrency, HandlerFacts, SPOKEN, UnreadableDeployment, kind,
    },
    failed_attempt::{FailedAttempt, FailedCommand},
    http::HttpConnector,
    pauses::{PauseRequest, PauseRequests},
    retention::ServiceRetention,
};

/// The header of a promise's parameter or value that contains the command which created it.
pub const BY: &str = "segno:by";
/// The header of a promise's parameter with the idempotency key of the call.
pub const IDEMPOTENCY: &str = "restate:idempotency-key";
/// The prefix of request headers among the headers of the parameter.
pub const HEADER: &str = "restate:header:";

/// The time for which the mapping from services to deployments is cached. A new registration takes
/// effect after this time at the latest.
const FRESH: Millis = Millis(1_000);

/// The registered deployments.
pub struct Services {
    store: Arc<dyn Store>,
    env: Env,
    connector: OnceLock<Arc<dyn Connector>>,
    deployments: Mutex<BTreeMap<Digest, Arc<Deployment>>>,
    names: Mutex<Option<(Timestamp, Arc<ServiceDigests>)>>,
    /// The deployment of each service, and the instant of the look-up.
    found: Mutex<BTreeMap<String, (Timestamp, Digest)>>,
    silent: OnceLock<RetentionPeriod>,
    pauses: Arc<PauseRequests>,
    /// The wait sets of suspended invocations.
    waits: WaitCache,
}

/// The digests of deployments, by service.
type ServiceDigests = BTreeMap<String, Digest>;

/// The reason why a handler cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum UnknownHandler {
    /// No deployment has the service.
    #[error("no deployment is registered that has the service `{0}`; register it first")]
    Service(String),
    /// The service has no such handler.
    #[error("the service `{service}` has no handler `{handler}`; it has {known}")]
    Handler {
        service: String,
        handler: String,
        /// The handlers of the service.
        known: String,
    },
    /// A key is missing or superfluous.
    #[error("{0}")]
    Key(String),
    /// The deployment cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadableDeployment),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Services {
    /// The deployments in this store, without a connector.
    pub fn new(store: Arc<dyn Store>, env: Env) -> Self {
        Self {
            store,
            env,
            connector: OnceLock::new(),
            deployments: Mutex::default(),
            names: Mutex::default(),
            found: Mutex::default(),
            silent: OnceLock::new(),
            pauses: Arc::default(),
            waits: WaitCache::default(),
        }
    }

    /// Adds services to the protocols of a host that does not claim work yet.
    pub fn join(host: &Host) -> Arc<Self> {
        let services = Arc::new(Self::new(host.store.clone(), host.env.clone()));
        host.protocols.add(services.clone());
        services
    }

    /// Sets the connector. Only the first call has an effect.
    pub fn connect(&self, connector: Arc<dyn Connector>) {
        let _ = self.connector.set(connector);
    }

    /// The connector. Refuses all calls if none was set.
    pub fn connector(&self) -> Arc<dyn Connector> {
        self.connector.get().cloned().unwrap_or_else(|| Arc::new(NoConnector))
    }

    /// Sets the retention of ended invocations whose service has no setting. Only the first call
    /// has an effect.
    pub fn keep_silent(&self, keep: RetentionPeriod) {
        let _ = self.silent.set(keep);
    }

    /// The retention of ended invocations whose service has no setting.
    pub fn silent(&self) -> RetentionPeriod {
        self.silent.get().copied().unwrap_or_else(|| Retention::default().of_silent_services())
    }

    /// The invocations that run on this host, and the requests to pause them.
    pub fn pauses(&self) -> &Arc<PauseRequests> {
        &self.pauses
    }

    /// The wait sets of suspended invocations.
    pub(crate) fn waits(&self) -> &WaitCache {
        &self.waits
    }

    /// The deployment with this digest.
    ///
    /// # Errors
    /// The digest is not that of a deployment, or the store did not answer.
    pub async fn deployment(&self, digest: Digest) -> Result<Arc<Deployment>, UnknownHandler> {
        if let Some(known) = lock(&self.deployments).get(&digest) {
            return Ok(known.clone());
        }
        let kept = self.store.modules().component(digest).await?;
        let kept = kept.ok_or_else(|| UnreadableDeployment::gone(digest))?;
        let deployment = Arc::new(Deployment::parse(&kept)?);
        lock(&self.deployments).insert(digest, deployment.clone());
        Ok(deployment)
    }

    /// The deployment that receives new invocations of a service.
    ///
    /// # Errors
    /// No deployment has the service, or the store did not answer.
    pub async fn of_service(
        &self,
        service: &str,
    ) -> Result<(Digest, Arc<Deployment>), UnknownHandler> {
        let now = self.env.clock.now();
        let known = lock(&self.found).get(service).copied();
        let digest = match known.filter(|(at, _)| now < *at + FRESH) {
            Some((_, digest)) => digest,
            // A service that does not exist costs one look-up by name.
            None => {
                let found = self.store.modules().named(&service_alias(service)).await?;
                let digest = found.ok_or_else(|| UnknownHandler::Service(service.to_owned()))?;
                lock(&self.found).insert(service.to_owned(), (now, digest));
                digest
            }
        };
        Ok((digest, self.deployment(digest).await?))
    }

    /// The names of the registered services, in alphabetical order.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn names(&self) -> Result<Vec<String>, StoreError> {
        let known = self.read_names().await?;
        let mut names = Vec::new();
        for (name, digest) in known.iter() {
            // A deployment may have lost a service since it was registered.
            let deployment = self.deployment(*digest).await;
            if deployment.is_ok_and(|deployment| deployment.service(name).is_some()) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// True if any service is registered.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn any(&self) -> Result<bool, StoreError> {
        let names = match self.known_names() {
            Some(names) => names,
            None => self.read_names().await?,
        };
        Ok(!names.is_empty())
    }

    /// The name of the handler that is the run of a workflow. `run` if the deployment is not cached
    /// or has no such handler.
    pub fn run_handler(&self, workflow: &str) -> String {
        let digest = lock(&self.found).get(workflow).map(|(_, digest)| *digest);
        let deployment = digest.and_then(|digest| lock(&self.deployments).get(&digest).cloned());
        let run = deployment.and_then(|deployment| deployment.run_of(workflow));
        run.unwrap_or_else(|| "run".to_owned())
    }

    /// Clears the cached mapping from services to deployments, after a registration.
    pub fn forget(&self) {
        *lock(&self.names) = None;
        lock(&self.found).clear();
    }

    fn known_names(&self) -> Option<Arc<ServiceDigests>> {
        let now = self.env.clock.now();
        let names = lock(&self.names);
        names.as_ref().filter(|(at, _)| now < *at + FRESH).map(|(_, names)| names.clone())
    }

    async fn read_names(&self) -> Result<Arc<ServiceDigests>, StoreError> {
        let now = self.env.clock.now();
        let mut names = ServiceDigests::new();
        for module in self.store.modules().list().await? {
            let services = module.aliases.iter().filter_map(|alias| service_of_alias(alias));
            names.extend(services.map(|service| (service.to_owned(), module.digest)));
        }
        let names = Arc::new(names);
        *lock(&self.names) = Some((now, names.clone()));
        Ok(names)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
