//! Deployments, as operators see them.

use std::sync::Arc;

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use segno_core::address::service_of_alias;
use segno_engine::services::Deployment;
use serde_json::{Value as Json_, json};

use super::{super::error::AdminError, services};
use crate::Api;

/// A deployment that is registered.
pub struct Registered {
    /// The deployment.
    pub deployment: Arc<Deployment>,
    /// When it was registered.
    pub created_at_ms: i64,
}

/// All of them that a service stands for, newest first.
pub async fn all(api: &Api) -> Result<Vec<Registered>, AdminError> {
    let mut all = Vec::new();
    for entry in &api.modules().await?.0 {
        let aliases = &entry.module.aliases;
        if !aliases.iter().any(|alias| service_of_alias(alias).is_some()) {
            continue;
        }
        let deployment = api.host.services.deployment(entry.digest).await?;
        let created_at_ms = entry.module.created_at_ms;
        all.push(Registered { deployment, created_at_ms });
    }
    Ok(all)
}

/// Lists deployments.
pub async fn list(api: &Api) -> Result<Response, AdminError> {
    let all = all(api).await?;
    let deployments: Vec<Json_> = all.iter().map(shown).collect();
    Ok(Json(json!({ "deployments": deployments })).into_response())
}

/// Describes one.
pub async fn describe(api: &Api, id: &str) -> Result<Response, AdminError> {
    let all = all(api).await?;
    let found = all.iter().find(|known| known.deployment.id() == id);
    let found =
        found.ok_or_else(|| AdminError::new(404, format!("there is no deployment `{id}`")))?;
    Ok(Json(shown(found)).into_response())
}

/// Removes a deployment that nothing refers to, with all that it was before its services were changed.
pub async fn remove(api: &Api, id: &str) -> Result<Response, AdminError> {
    let modules = api.modules().await?;
    let mut found = Vec::new();
    for entry in &modules.0 {
        let deployment = api.host.services.deployment(entry.digest).await;
        if deployment.is_ok_and(|deployment| deployment.id() == id) {
            found.push(entry);
        }
    }
    if found.is_empty() {
        return Err(AdminError::new(404, format!("there is no deployment `{id}`")));
    }
    let aliases = found.iter().flat_map(|entry| &entry.module.aliases);
    let services: Vec<_> = aliases
        .filter_map(|alias| service_of_alias(alias))
        .map(|name| format!("`{name}`"))
        .collect();
    if !services.is_empty() {
        let message = format!(
            "new invocations of {} go to `{id}`: register another deployment that has {}, then this one can be removed",
            services.join(", "),
            if services.len() == 1 { "it" } else { "them" }
        );
        return Err(AdminError::new(409, message));
    }
    let in_use = api.host.store.modules().in_use().await?;
    let count: u64 = found.iter().filter_map(|entry| in_use.get(&entry.digest)).sum();
    if count > 0 {
        let message = format!(
            "{count} invocations that have not ended run on `{id}`: wait for them, or end them"
        );
        return Err(AdminError::new(409, message));
    }
    let now = api.host.env.clock.now();
    for entry in found {
        if !api.host.store.modules().remove(entry.digest, now).await? {
            let message = format!(
                "invocations that have ended and are kept ran on `{id}`: retention removes it after them, or purge them"
            );
            return Err(AdminError::new(409, message));
        }
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

fn shown(registered: &Registered) -> Json_ {
    let services = registered.deployment.manifest.services.iter();
    let services: Vec<Json_> =
        services.map(|service| json!({ "name": service.name, "revision": 1 })).collect();
    let mut shown = view(&registered.deployment);
    shown["services"] = services.into();
    let at = segno_core::time::Timestamp(registered.created_at_ms);
    shown["created_at"] = super::super::ingress_time(at).into();
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

/// A deployment, as registering it answers.
pub fn view(deployment: &Deployment) -> Json_ {
    let services: Vec<Json_> = deployment
        .manifest
        .services
        .iter()
        .map(|service| services::view(deployment, service))
        .collect();
    json!({
        "id": deployment.id(),
        "services": services,
        "min_protocol_version": deployment.manifest.min_protocol_version,
        "max_protocol_version": deployment.manifest.max_protocol_version,
        "sdk_version": deployment.sdk,
    })
}
