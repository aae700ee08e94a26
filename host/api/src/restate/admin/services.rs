//! Services, as operators see them.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use segno_core::id::Digest;
use segno_engine::services::{Deployment, HandlerKind, kind};
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
pub fn view(digest: Digest, _deployment: &Deployment, service: &Service) -> Json_ {
    let handlers: Vec<Json_> =
        service.handlers.iter().map(|handler| shown(service, handler)).collect();
    json!({
        "name": service.name,
        "ty": match service.ty {
            ServiceType::Service => "Service",
            ServiceType::VirtualObject => "VirtualObject",
            ServiceType::Workflow => "Workflow",
        },
        "handlers": handlers,
        "deployment_id": Deployment::id(digest).to_string(),
        "public": !service.ingress_private.unwrap_or_default(),
        "documentation": service.documentation,
        "metadata": service.metadata.clone().unwrap_or_default(),
        "inactivity_timeout": service.inactivity_timeout,
        "abort_timeout": service.abort_timeout,
    })
}

fn shown(service: &Service, handler: &Handler) -> Json_ {
    json!({
        "name": handler.name,
        "ty": match kind(service, handler) {
            HandlerKind::Plain => None,
            HandlerKind::Exclusive => Some("Exclusive"),
            HandlerKind::Shared => Some("Shared"),
            HandlerKind::Run => Some("Workflow"),
        },
        "public": !handler.ingress_private.or(service.ingress_private).unwrap_or_default(),
        "documentation": handler.documentation,
        "metadata": handler.metadata.clone().unwrap_or_default(),
        "input_json_schema": handler.input.as_ref().and_then(|input| input.json_schema.clone()),
        "output_json_schema": handler.output.as_ref().and_then(|output| output.json_schema.clone()),
    })
}
