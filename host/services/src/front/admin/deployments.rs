//! Deployments in the admin API.

use std::sync::Arc;

use axum::{Json, http::StatusCode, response::IntoResponse};
use segno_api::shared::CatalogEntry;
use segno_core::{address::service_of_alias, id::Digest, time::Timestamp};
use serde_json::{Value as Json_, json};

use super::{
    super::{
        error::{AdminError, AdminResult},
        request::parameter,
    },
    service_view,
};
use crate::{Deployment, front::ServicesApi};

/// Maximum number of invocations named in a refusal.
const NAMED: u32 = 8;

/// A registered deployment.
pub(super) struct RegisteredDeployment {
    /// The deployment.
    pub deployment: Arc<Deployment>,
    /// When it was registered, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
}

/// Lists all deployments to which a service points, newest first.
pub(super) async fn all(api: &ServicesApi) -> AdminResult<Vec<RegisteredDeployment>> {
    let mut all = Vec::new();
    for entry in &api.modules().await?.0 {
        let aliases = &entry.module.aliases;
        if !aliases.iter().any(|alias| service_of_alias(alias).is_some()) {
            continue;
        }
        let deployment = api.services.deployment(entry.digest).await?;
        let created_at_ms = created_at(&deployment, entry).0;
        all.push(RegisteredDeployment { deployment, created_at_ms });
    }
    Ok(all)
}

/// Returns when a deployment was first registered, regardless of later changes.
pub(super) async fn registered_at(api: &ServicesApi, digest: Digest) -> AdminResult<Timestamp> {
    let deployment = api.services.deployment(digest).await?;
    let modules = api.modules().await?;
    let entry = modules.0.iter().find(|entry| entry.digest == digest);
    let now = api.host.env.clock.now();
    Ok(entry.map_or(now, |entry| created_at(&deployment, entry)))
}

fn created_at(deployment: &Deployment, entry: &CatalogEntry) -> Timestamp {
    deployment.created_at().unwrap_or(Timestamp(entry.module.created_at_ms))
}

/// Lists deployments.
pub(super) async fn list(api: &ServicesApi) -> AdminResult {
    let all = all(api).await?;
    let briefly = |known: &RegisteredDeployment| {
        let services = known.deployment.manifest.services.iter();
        let services: Vec<Json_> =
            services.map(|service| json!({ "name": service.name, "revision": known.deployment.revision(&service.name) })).collect();
        let mut shown = shown(api, known);
        shown["services"] = services.into();
        shown
    };
    let deployments: Vec<Json_> = all.iter().map(briefly).collect();
    Ok(Json(json!({ "deployments": deployments })).into_response())
}

/// Describes one deployment.
pub(super) async fn describe(api: &ServicesApi, id: &str) -> AdminResult {
    let all = all(api).await?;
    let found = all.iter().find(|known| known.deployment.id() == id);
    let found =
        found.ok_or_else(|| AdminError::new(404, format!("there is no deployment `{id}`")))?;
    Ok(Json(shown(api, found)).into_response())
}

/// Removes a deployment on which nothing runs, with its earlier revisions from before its services
/// were changed. Services that point to it are removed with it if requested. Ended invocations keep
/// its document.
pub(super) async fn remove(api: &ServicesApi, id: &str, query: &str) -> AdminResult {
    let modules = api.modules().await?;
    let mut found = Vec::new();
    for entry in &modules.0 {
        let deployment = api.services.deployment(entry.digest).await;
        if deployment.is_ok_and(|deployment| deployment.id() == id) {
            found.push(entry);
        }
    }
    if found.is_empty() {
        return Err(AdminError::new(404, format!("there is no deployment `{id}`")));
    }
    let named = |entry: &&CatalogEntry| {
        entry.module.aliases.iter().map(|alias| (alias.clone(), entry.digest)).collect::<Vec<_>>()
    };
    let aliases: Vec<(String, Digest)> = found.iter().flat_map(named).collect();
    if !aliases.is_empty() && parameter(query, "force") != Some("true") {
        let services = aliases.iter().filter_map(|(alias, _)| service_of_alias(alias));
        let services: Vec<_> = services.map(|name| format!("`{name}`")).collect();
        let message = format!(
            "new invocations of {} go to `{id}`: register another deployment that has {}, or remove {} as well with `force=true`",
            services.join(", "),
            if services.len() == 1 { "it" } else { "them" },
            if services.len() == 1 { "the service" } else { "the services" },
        );
        return Err(AdminError::new(409, message));
    }
    idle(api, id, &found).await?;
    for (alias, digest) in aliases {
        api.take_alias(&alias, digest).await?;
    }
    // Checks again for invocations that began before the last service was removed.
    idle(api, id, &found).await?;
    let now = api.host.env.clock.now();
    for entry in found {
        api.host.store.modules().remove(entry.digest, now).await?;
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Refuses to remove deployments on which invocations run.
async fn idle(api: &ServicesApi, id: &str, entries: &[&CatalogEntry]) -> AdminResult<()> {
    let mut running = Vec::new();
    for entry in entries {
        let left = NAMED.saturating_sub(u32::try_from(running.len()).unwrap_or(NAMED));
        running.extend(api.host.store.modules().unfinished(entry.digest, left + 1).await?);
    }
    if running.is_empty() {
        return Ok(());
    }
    let more = if running.len() > NAMED as usize { " and others" } else { "" };
    let named = running.iter().take(NAMED as usize).map(|id| format!("`{id}`"));
    let message = format!(
        "invocations that have not ended run on `{id}` and would have no code: wait for {}{more}, or cancel or kill them",
        named.collect::<Vec<_>>().join(", ")
    );
    Err(AdminError::new(409, message))
}

fn shown(api: &ServicesApi, registered: &RegisteredDeployment) -> Json_ {
    let mut shown = view(api, &registered.deployment);
    let at = Timestamp(registered.created_at_ms);
    shown["created_at"] = at.in_utc_millis().into();
    shown["uri"] = registered.deployment.uri.clone().into();
    shown["protocol_type"] = match registered.deployment.is_bidirectional() {
        true => "BidiStream",
        false => "RequestResponse",
    }
    .into();
    shown["http_version"] =
        if registered.deployment.http11 { "HTTP/1.1" } else { "HTTP/2.0" }.into();
    shown
}

/// Converts a deployment for the answer to its registration.
pub(super) fn view(api: &ServicesApi, deployment: &Deployment) -> Json_ {
    let services: Vec<Json_> = deployment
        .manifest
        .services
        .iter()
        .map(|service| service_view::service(deployment, service, api.services.silent()))
        .collect();
    json!({
        "id": deployment.id(),
        "services": services,
        "min_protocol_version": deployment.manifest.min_protocol_version,
        "max_protocol_version": deployment.manifest.max_protocol_version,
        "sdk_version": deployment.sdk,
    })
}
