//! Deployments of services in the simulation: two of them, with versions and modes of their own, that call each other,
//! and a newer one for each, which takes over its services in the middle.
//!
//! - `errand`: what clients want of services; `shop`: the services, their handlers and manifests;
//! - `way`: the way to a deployment, and what goes wrong on it;
//! - `witness`: what handlers saw, in all attempts; `audit`: what must be true of services at the end.

mod audit;
mod errand;
mod shop;
mod way;
mod witness;

use std::sync::Arc;

use async_trait::async_trait;
use segno::{
    services::{AttemptRequest, ConnectError, Connector, DeploymentAnswer, Endpoint, Exchange},
    store::Store as _,
};
use segno_core::{snapshot::Snapshot, time::Timestamp};

pub use self::{
    audit::{is_service, refines},
    errand::Errand,
};
use self::{way::Way, witness::Witness};
use super::{event_log::EventLog, fault::Fault, network::Network, scenario::Scenario};
use crate::world::deployment::{TestConnector, TestDeployment, registration};

/// How many deployments there are at the beginning.
pub const DEPLOYMENTS: usize = 2;

/// How a deployment is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// The version of the protocol.
    pub version: u32,
    /// Whether a request ends before its answer begins.
    pub whole: bool,
}

/// All deployments: those of the beginning, and then the newer one of each, behind the same way.
pub struct Services {
    deployments: [Arc<TestDeployment>; 2 * DEPLOYMENTS],
    ways: [Arc<Way>; DEPLOYMENTS],
    modes: [Mode; DEPLOYMENTS],
    witness: Arc<Witness>,
}

impl Services {
    /// The deployments of a scenario; none: it has none.
    pub fn new(scenario: &Scenario, log: &Arc<EventLog>) -> Option<Arc<Self>> {
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

    /// Registers those of the beginning.
    pub async fn register(&self, network: &Network) {
        for number in 0..DEPLOYMENTS {
            self.put(network, number).await;
        }
    }

    /// Registers the newer one of this deployment: what is begun from now on goes there.
    pub async fn upgrade(&self, network: &Network, deployment: usize) {
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

    /// The way to a deployment.
    pub fn way(&self, deployment: usize) -> &Way {
        &self.ways[deployment]
    }

    /// How often a run was done.
    fn done(&self, run: &str) -> u64 {
        self.deployments.iter().map(|deployment| deployment.done(run)).sum()
    }

    /// No fault from now on.
    pub fn heal(&self) {
        self.ways.iter().for_each(|way| way.heal());
    }

    /// What was seen is forgotten: everything is begun anew.
    pub fn begin_anew(&self) {
        self.witness.forget();
    }

    /// All that is wrong with services at the end.
    pub fn end(&self, rows: &Snapshot) -> Vec<String> {
        audit::end(rows, &self.witness, |run| self.done(run))
    }
}

/// Reaches each deployment by the number that is its address.
pub struct ToServices(pub Arc<Services>);

#[async_trait]
impl Connector for ToServices {
    async fn discover(
        &self,
        endpoint: &Endpoint,
        accept: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        TestConnector(self.0.deployments[0].clone()).discover(endpoint, accept).await
    }

    async fn open(
        &self,
        endpoint: &Endpoint,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        let number: usize = endpoint.uri.parse().expect("deployments are registered by number");
        TestConnector(self.0.deployments[number].clone()).open(endpoint, request).await
    }
}
