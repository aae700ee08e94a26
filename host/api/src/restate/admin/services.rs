//! Services, as operators see them.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use segno_core::id::Digest;
use segno_core::time::Millis;
use segno_engine::services::{Deployment, HandlerKind, RetryPolicy, kind};
use segno_restate::manifest::{Handler, Service, ServiceType};
use serde_json::{Value as Json_, json};

use super::super::error::AdminError;
use crate::Api;

/// Lists the services that are registered.
pub async fn list(api: &Api) -> Result<Response, AdminError> {
    let mut services = Vec::new();
    for name in api.host.services.names().await? {
        services.push(one(api, &name).await?);
    }
    Ok(Json(json!({ "services": services })).into_response())
}

/// Describes one.
pub async fn describe(api: &Api, name: &str) -> Result<Response, AdminError> {
    Ok(Json(one(api, name).await?).into_response())
}

/// Lists the handlers of a service.
pub async fn handlers(api: &Api, name: &str) -> Result<Response, AdminError> {
    let (_, deployment) = api.host.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    let handlers: Vec<Json_> =
        service.handlers.iter().map(|handler| shown(service, handler)).collect();
    Ok(Json(json!({ "handlers": handlers })).into_response())
}

/// Describes a handler.
pub async fn handler(api: &Api, name: &str, handler: &str) -> Result<Response, AdminError> {
    let (_, deployment) = api.host.services.of_service(name).await?;
    let (service, found) = deployment.handler(name, handler).ok_or_else(|| {
        AdminError::new(404, format!("the service `{name}` has no handler `{handler}`"))
    })?;
    Ok(Json(shown(service, found)).into_response())
}

async fn one(api: &Api, name: &str) -> Result<Json_, AdminError> {
    let (digest, deployment) = api.host.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    Ok(view(digest, &deployment, service))
}

fn missing(name: &str) -> AdminError {
    AdminError::new(404, format!("there is no service `{name}`"))
}

/// A service.
pub fn view(digest: Digest, deployment: &Deployment, service: &Service) -> Json_ {
    let handlers: Vec<Json_> =
        service.handlers.iter().map(|handler| shown(service, handler)).collect();
    let timeouts = Deployment::timeouts_of(service);
    let mut shown = json!({
        "name": service.name,
        "ty": match service.ty {
            ServiceType::Service => "Service",
            ServiceType::VirtualObject => "VirtualObject",
            ServiceType::Workflow => "Workflow",
        },
        "handlers": handlers,
        "deployment_id": Deployment::id(digest).to_string(),
        "revision": 1,
        "public": !service.ingress_private.unwrap_or_default(),
        "inactivity_timeout": length(timeouts.inactivity),
        "abort_timeout": length(timeouts.abort),
        "enable_lazy_state": service.enable_lazy_state.unwrap_or_default(),
        "retry_policy": policy(&deployment.policy_of(service)),
    });
    described(&mut shown, service.documentation.as_ref(), service.metadata.as_ref());
    shown
}

fn shown(service: &Service, handler: &Handler) -> Json_ {
    let mut shown = json!({
        "name": handler.name,
        "public": !handler.ingress_private.or(service.ingress_private).unwrap_or_default(),
    });
    let kind = match kind(service, handler) {
        HandlerKind::Plain => None,
        HandlerKind::Exclusive => Some("Exclusive"),
        HandlerKind::Shared => Some("Shared"),
        HandlerKind::Run => Some("Workflow"),
    };
    let input = handler.input.as_ref();
    let output = handler.output.as_ref();
    let own_policy = handler.retry_policy_initial_interval.is_some()
        || handler.retry_policy_max_attempts.is_some()
        || handler.retry_policy_on_max_attempts.is_some();
    let optional = [
        ("ty", kind.map(Json_::from)),
        ("input_description", input.and_then(|input| input.content_type.clone()).map(Json_::from)),
        ("output_description", output.and_then(|it| it.content_type.clone()).map(Json_::from)),
        ("input_json_schema", input.and_then(|input| input.json_schema.clone())),
        ("output_json_schema", output.and_then(|output| output.json_schema.clone())),
        ("enable_lazy_state", handler.enable_lazy_state.map(Json_::from)),
        ("retry_policy", own_policy.then(|| policy(&Deployment::retry_policy(service, handler)))),
    ];
    for (name, value) in optional {
        value.into_iter().for_each(|value| shown[name] = value);
    }
    described(&mut shown, handler.documentation.as_ref(), handler.metadata.as_ref());
    shown
}

fn described(
    shown: &mut Json_,
    documentation: Option<&String>,
    metadata: Option<&BTreeMap<String, String>>,
) {
    documentation.into_iter().for_each(|text| shown["documentation"] = text.as_str().into());
    let metadata = metadata.filter(|metadata| !metadata.is_empty());
    metadata.into_iter().for_each(|metadata| shown["metadata"] = json!(metadata));
}

fn policy(policy: &RetryPolicy) -> Json_ {
    json!({
        "initial_interval": length(policy.initial),
        "exponentiation_factor": policy.factor,
        "max_interval": length(policy.longest),
        "max_attempts": policy.most,
        "on_max_attempts": if policy.fails { "Kill" } else { "Pause" },
    })
}

/// A length of time, as tools write it.
fn length(length: Millis) -> String {
    let millis = u64::try_from(length.0).unwrap_or_default();
    humantime::format_duration(Duration::from_millis(millis)).to_string()
}
