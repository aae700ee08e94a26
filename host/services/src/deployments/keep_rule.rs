//! The retention of ended invocations of services, from their deployments.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{address::Address, id::PromiseId, promise::Promise, time::Millis};
use segno_engine::recovery::retention::{KeepRule, RetentionPeriod};
use segno_store::{PromiseRow, StoreError};

use super::{Deployment, IDEMPOTENCY, Services};

/// Minimum retention period, whatever the deployment declares, so that clients that wait for the
/// end can read it.
const LEAST: Millis = Millis(60_000);

#[async_trait]
impl KeepRule for Services {
    fn keep_silent(&self, keep: RetentionPeriod) {
        Services::keep_silent(self, keep);
    }

    async fn least(&self) -> Result<Option<Millis>, StoreError> {
        Ok(self.any().await?.then_some(LEAST))
    }

    async fn keeps(
        &self,
        silent: RetentionPeriod,
        roots: &[&Promise],
    ) -> Result<BTreeMap<PromiseId, RetentionPeriod>, StoreError> {
        let of_services = roots.iter().filter(|root| called(root).is_some());
        let ids: Vec<PromiseId> = of_services.map(|root| root.id().clone()).collect();
        let mut keeps = BTreeMap::new();
        if ids.is_empty() {
            return Ok(keeps);
        }
        for row in self.store.read().promises(&ids).await?.into_iter().flatten() {
            keeps.insert(row.promise.id().clone(), keep(self, silent, &row).await);
        }
        Ok(keeps)
    }
}

async fn keep(services: &Services, silent: RetentionPeriod, row: &PromiseRow) -> RetentionPeriod {
    let module = row.task.as_ref().and_then(|task| task.module);
    let Some((digest, (service, handler))) = module.zip(called(&row.promise)) else {
        return silent;
    };
    // A deployment that cannot be read has no setting.
    let Ok(deployment) = services.deployment(digest).await else { return silent };
    let Some((service, handler)) = deployment.handler(&service, &handler) else { return silent };
    let has_key = row.promise.spec.param.headers.contains_key(IDEMPOTENCY);
    let keeps = Deployment::keeps(service, handler, has_key).into_iter();
    let keeps =
        keeps.map(|said| said.map_or(silent, |length| RetentionPeriod::For(length.max(LEAST))));
    keeps.max().unwrap_or(silent)
}

/// The service and the handler of an invocation. `None` if it is not an invocation of a service.
fn called(root: &Promise) -> Option<(String, String)> {
    match Address::parse(root.target()?) {
        Ok(Address::Service { service, handler, .. }) => {
            Some((service.to_string(), handler.to_string()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
