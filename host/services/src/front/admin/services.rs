//! Services in the admin API.

use std::collections::BTreeMap;

use axum::{Json, extract::Request, response::IntoResponse};
use segno_core::time::Millis;
use serde::Deserialize;
use serde_json::{Value as Json_, json};

use super::{
    super::{
        error::{AdminError, AdminResult},
        openapi,
        request::json_of_operator,
    },
    deployments, register, service_view,
};
use crate::{ServiceChange, ServiceRetention, front::ServicesApi};

/// Lists the registered services.
pub(super) async fn list(api: &ServicesApi) -> AdminResult {
    let mut services = Vec::new();
    for name in api.services.names().await? {
        services.push(one(api, &name).await?);
    }
    Ok(Json(json!({ "services": services })).into_response())
}

/// Describes one service.
pub(super) async fn describe(api: &ServicesApi, name: &str) -> AdminResult {
    Ok(Json(one(api, name).await?).into_response())
}

/// Lists the handlers of a service.
pub(super) async fn handlers(api: &ServicesApi, name: &str) -> AdminResult {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    let handlers: Vec<Json_> =
        service.handlers.iter().map(|handler| service_view::handler(service, handler)).collect();
    Ok(Json(json!({ "handlers": handlers })).into_response())
}

/// Describes a handler.
pub(super) async fn handler(api: &ServicesApi, name: &str, handler: &str) -> AdminResult {
    let (_, deployment) = api.services.of_service(name).await?;
    let (service, found) = deployment.handler(name, handler).ok_or_else(|| {
        AdminError::new(404, format!("the service `{name}` has no handler `{handler}`"))
    })?;
    Ok(Json(service_view::handler(service, found)).into_response())
}

/// The body of a change of a service.
#[derive(Deserialize)]
struct ServicePatch {
    public: Option<bool>,
    inactivity_timeout: Option<String>,
    abort_timeout: Option<String>,
    idempotency_retention: Option<String>,
    workflow_completion_retention: Option<String>,
    journal_retention: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, Json_>,
}

impl ServicePatch {
    fn change(&self) -> AdminResult<ServiceChange> {
        if let Some(name) = self.other.keys().next() {
            let message =
                format!("`{name}` cannot be changed here: the SDK of the service sets it");
            return Err(AdminError::new(400, message));
        }
        Ok(ServiceChange {
            public: self.public,
            inactivity: read_length(&self.inactivity_timeout)?,
            abort: read_length(&self.abort_timeout)?,
            retention: ServiceRetention {
                idempotency: read_length(&self.idempotency_retention)?,
                completion: read_length(&self.workflow_completion_retention)?,
                journal: read_length(&self.journal_retention)?,
            },
        })
    }
}

/// Changes settings of a service, for invocations that begin from now on.
pub(super) async fn change(api: ServicesApi, request: Request, name: &str) -> AdminResult {
    let change = json_of_operator::<ServicePatch>(&api, request).await?.change()?;
    let (former, deployment) = api.services.of_service(name).await?;
    if change.retention.completion.is_some() && deployment.run_of(name).is_none() {
        let message = format!("`{name}` is no workflow: leave `workflow_completion_retention` out");
        return Err(AdminError::new(400, message));
    }
    let created_at = deployments::registered_at(&api, former).await?;
    let changed = deployment.changed(name, &change, created_at);
    register::replace(&api, former, &changed).await?;
    describe(&api, name).await
}

fn read_length(text: &Option<String>) -> AdminResult<Option<Millis>> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || AdminError::new(400, format!("`{text}` is no length of time, like 90s"));
    crate::front::delay_of(text).ok_or_else(wrong).map(Some)
}

/// Returns the OpenAPI document of a service, for client generators.
pub(super) async fn openapi(api: &ServicesApi, name: &str) -> AdminResult {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    Ok(Json(openapi::document(std::slice::from_ref(service))).into_response())
}

async fn one(api: &ServicesApi, name: &str) -> AdminResult<Json_> {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    Ok(service_view::service(&deployment, service, api.services.silent()))
}

fn missing(name: &str) -> AdminError {
    AdminError::new(404, format!("there is no service `{name}`"))
}
