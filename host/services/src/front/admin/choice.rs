//! Selection of the deployment that continues a journal, by `deployment=…` in a request.

use std::sync::Arc;

use segno_core::id::{Digest, PromiseId};
use segno_restate::{id::DeploymentId, version::ProtocolVersion};
use segno_store::PromiseRow;

use super::super::error::{AdminError, AdminResult};
use crate::{Deployment, front::ServicesApi};

/// A deployment, and the digest under which it is stored.
type StoredDeployment = (Digest, Arc<Deployment>);

/// Selects the deployment of `service` by `latest`, `keep` or an id; `None` selects the one that
/// wrote the journal.
pub(super) async fn chosen(
    api: &ServicesApi,
    row: &PromiseRow,
    service: &str,
    asked: Option<&str>,
) -> AdminResult<StoredDeployment> {
    match asked {
        Some(asked) if asked.eq_ignore_ascii_case("latest") => {
            Ok(api.services.of_service(service).await?)
        }
        Some(asked) if !asked.eq_ignore_ascii_case("keep") => named(api, service, asked).await,
        Some(_) | None => match began_on(row) {
            Some(digest) => Ok((digest, api.services.deployment(digest).await?)),
            None => {
                let message = format!("`{}` never began on a deployment", row.promise.id());
                Err(AdminError::new(400, message))
            }
        },
    }
}

async fn named(api: &ServicesApi, service: &str, id: &str) -> AdminResult<StoredDeployment> {
    if id.parse::<DeploymentId>().is_err() {
        let message = format!("`{id}` is no id of a deployment, and neither `latest` nor `keep`");
        return Err(AdminError::new(400, message));
    }
    for entry in &api.modules().await?.0 {
        let digest = entry.digest;
        let Ok(deployment) = api.services.deployment(digest).await else { continue };
        if deployment.id() != id {
            continue;
        }
        let has = deployment.manifest.services.iter().any(|known| known.name == service);
        return match has {
            true => Ok((digest, deployment)),
            false => {
                let message = format!("the deployment `{id}` has no service `{service}`");
                Err(AdminError::new(400, message))
            }
        };
    }
    Err(AdminError::new(404, format!("there is no deployment `{id}`")))
}

/// Returns the deployment to which an invocation is pinned.
pub(super) fn began_on(row: &PromiseRow) -> Option<Digest> {
    row.task.as_ref().and_then(|task| task.module)
}

/// Refuses a deployment that does not speak the protocol version of the journal of `id`; the error
/// contains `advice`.
pub(super) fn speaks(
    deployment: &Deployment,
    id: &PromiseId,
    version: u32,
    advice: &str,
) -> AdminResult<()> {
    let spoken = deployment.manifest.protocol_versions();
    if ProtocolVersion::from_number(version).is_some_and(|version| spoken.contains(version)) {
        return Ok(());
    }
    let message = format!(
        "the journal of `{id}` is of version {version} of the protocol, which the deployment `{}` does not speak: {advice}",
        deployment.id()
    );
    Err(AdminError::new(400, message))
}
