//! Deployments of services in the simulation: two of them, with their own versions and modes, that
//! call each other. A newer deployment for each takes over its services in the middle of the run.
//!
//! - `errand`: operations of clients; `shop`: the services, their handlers and manifests;
//! - `way`: the connection to a deployment, with its faults;
//! - `witness`: observations of handlers, in all attempts; `audit`: invariants of services at the
//!   end.

mod audit;
mod errand;
mod shop;
mod way;
mod witness;

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{snapshot::Snapshot, time::Timestamp};
use segno_services::{
    AttemptRequest, ConnectError, Connector, DeploymentAddress, DeploymentAnswer, Exchange,
};
use segno_store::Store as _;

pub(super) use self::audit::{is_service, refines};
pub use self::errand::Errand;
use self::{way::Way, witness::Witness};
use super::{event_log::EventLog, fault::Fault, network::Network, scenario::Scenario};
use crate::world::deployment::{TestConnector, TestDeployment, registration};

/// Number of deployments at the start.
pub(super) const DEPLOYMENTS: usize = 2;

/// Protocol mode of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Version of the protocol.
    pub version: u32,
    /// True if a request ends before its answer begins.
    pub whole: bool,
}

/// All deployments: the first ones, followed by the newer one of each, behind the same connection.
pub(super) struct Services {
    deployments: [Arc<TestDeployment>; 2 * DEPLOYMENTS],
    ways: [Arc<Way>; DEPLOYMENTS],
    modes: [Mode; DEPLOYMENTS],
    witness: Arc<Witness>,
}

impl Services {
    /// Creates the deployments of a scenario. `None` if it has none.
    pub(super) fn new(scenario: &Scenario, log: &Arc<EventLog>) -> Option<Arc<Self>> {
        let modes = scenario.deployments?;
        let witness = Arc::new(Witness::new(log.clone()));
        let ways = [0, 1].map(|number| {
            let faults = scenario.faults.iter().filter_map(|(_, fault)| match fault {
                Fault::Frame { deployment, number: frame, how } if *deployment == number => {
                    Some((*frame, *how))
                }
                _ => None,
            });
            Arc::new(Way::new(number, faults.collect(), log.clone()))
        });
        let deployments = [0, 1, 2, 3].map(|number| {
            let way = ways[number % DEPLOYMENTS].clone();
            Arc::new(shop::deployment(number, &witness).behind(way))
        });
        Some(Arc::new(Self { deployments, ways, modes, witness }))
    }

    /// Registers the first deployments.
    pub(super) async fn register(&self, network: &Network) {
        for number in 0..DEPLOYMENTS {
            self.put(network, number).await;
        }
    }

    /// Registers the newer version of a deployment. Invocations that begin from now on use it.
    pub(super) async fn upgrade(&self, network: &Network, deployment: usize) {
        self.put(network, deployment + DEPLOYMENTS).await;
    }

    async fn put(&self, network: &Network, number: usize) {
        let kind = number % DEPLOYMENTS;
        let manifest = shop::manifest(kind, self.modes[kind]);
        let (new, deploys) = registration(&number.to_string(), &manifest, Timestamp(0));
        let put = network.database.memory.modules().put(new).await;
        put.expect("memory takes everything");
        network.database.execute("operator", &deploys).await;
    }

    /// Connection to a deployment.
    pub(super) fn way(&self, deployment: usize) -> &Way {
        &self.ways[deployment]
    }

    /// Number of executions of a run.
    fn done(&self, run: &str) -> u64 {
        self.deployments.iter().map(|deployment| deployment.done(run)).sum()
    }

    /// Ends all faults.
    pub(super) fn heal(&self) {
        self.ways.iter().for_each(|way| way.heal());
    }

    /// Forgets all observations, because everything starts again.
    pub(super) fn begin_anew(&self) {
        self.witness.forget();
    }

    /// Violations of services at the end.
    pub(super) fn end(&self, rows: &Snapshot) -> Vec<String> {
        audit::end(rows, &self.witness, |run| self.done(run))
    }
}

/// Connects to each deployment by its number, which is its address.
pub(super) struct ToServices(pub Arc<Services>);

#[async_trait]
impl Connector for ToServices {
    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        accept: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        TestConnector(self.0.deployments[0].clone()).discover(endpoint, accept).await
    }

    async fn open(
        &self,
        endpoint: &DeploymentAddress,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        let number: usize = endpoint.uri.parse().expect("deployments are registered by number");
        TestConnector(self.0.deployments[number].clone()).open(endpoint, request).await
    }
}
