//! Services in the admin API.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json,
    extract::Request,
    response::{IntoResponse, Response},
};
use segno_core::time::Millis;
use segno_engine::recovery::retention::RetentionPeriod;
use segno_restate::manifest::{ManifestHandler, OnMaxAttempts, Service, ServiceType};
use serde::Deserialize;
use serde_json::{Value as Json_, json};

use super::{
    super::{error::AdminError, openapi},
    body, deployments, register,
};
use crate::{
    Deployment, HandlerConcurrency, HandlerRetryPolicy, ServiceChange, ServiceRetention,
    front::ServicesApi, kind,
};

const DAY_MS: u64 = 86_400_000;

/// Lists the registered services.
pub async fn list(api: &ServicesApi) -> Result<Response, AdminError> {
    let mut services = Vec::new();
    for name in api.services.names().await? {
        services.push(one(api, &name).await?);
    }
    Ok(Json(json!({ "services": services })).into_response())
}

/// Describes one service.
pub async fn describe(api: &ServicesApi, name: &str) -> Result<Response, AdminError> {
    Ok(Json(one(api, name).await?).into_response())
}

/// Lists the handlers of a service.
pub async fn handlers(api: &ServicesApi, name: &str) -> Result<Response, AdminError> {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    let handlers: Vec<Json_> =
        service.handlers.iter().map(|handler| shown(service, handler)).collect();
    Ok(Json(json!({ "handlers": handlers })).into_response())
}

/// Describes a handler.
pub async fn handler(api: &ServicesApi, name: &str, handler: &str) -> Result<Response, AdminError> {
    let (_, deployment) = api.services.of_service(name).await?;
    let (service, found) = deployment.handler(name, handler).ok_or_else(|| {
        AdminError::new(404, format!("the service `{name}` has no handler `{handler}`"))
    })?;
    Ok(Json(shown(service, found)).into_response())
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
    fn change(&self) -> Result<ServiceChange, AdminError> {
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
pub async fn change(
    api: ServicesApi,
    request: Request,
    name: &str,
) -> Result<Response, AdminError> {
    let change = body::<ServicePatch>(&api, request).await?.change()?;
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

fn read_length(text: &Option<String>) -> Result<Option<Millis>, AdminError> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || AdminError::new(400, format!("`{text}` is no length of time, like 90s"));
    crate::front::delay_of(text).ok_or_else(wrong).map(Some)
}

/// Returns the OpenAPI document of a service, for client generators.
pub async fn openapi(api: &ServicesApi, name: &str) -> Result<Response, AdminError> {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    Ok(Json(openapi::document(std::slice::from_ref(service))).into_response())
}

async fn one(api: &ServicesApi, name: &str) -> Result<Json_, AdminError> {
    let (_, deployment) = api.services.of_service(name).await?;
    let service = deployment.service(name).ok_or_else(|| missing(name))?;
    Ok(view(&deployment, service, api.services.silent()))
}

fn missing(name: &str) -> AdminError {
    AdminError::new(404, format!("there is no service `{name}`"))
}

/// Describes a service. `silent` is the retention period for services without a setting.
pub fn view(deployment: &Deployment, service: &Service, silent: RetentionPeriod) -> Json_ {
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
        "deployment_id": deployment.id(),
        "revision": deployment.revision(&service.name),
        "public": !service.ingress_private.unwrap_or_default(),
        "inactivity_timeout": length(timeouts.inactivity),
        "abort_timeout": length(timeouts.abort),
        "enable_lazy_state": service.enable_lazy_state.unwrap_or_default(),
        "retry_policy": policy(&deployment.policy_of(service)),
    });
    let said = ServiceRetention::of(service);
    let keep = |said: Option<Millis>| said.map_or(silent, RetentionPeriod::For);
    let is_workflow = service.ty == ServiceType::Workflow;
    let kept = [
        ("idempotency_retention", Some(keep(said.idempotency))),
        ("workflow_completion_retention", is_workflow.then(|| keep(said.completion))),
        ("journal_retention", Some(keep(said.journal))),
    ];
    for (name, keep) in kept {
        // The format cannot express an unlimited period, so it is omitted.
        let Some(RetentionPeriod::For(kept)) = keep else { continue };
        shown[name] = length(kept).into();
    }
    described(&mut shown, service.documentation.as_ref(), service.metadata.as_ref());
    shown
}

fn shown(service: &Service, handler: &ManifestHandler) -> Json_ {
    let mut shown = json!({
        "name": handler.name,
        "public": !handler.ingress_private.or(service.ingress_private).unwrap_or_default(),
        "retry_policy": own_policy(handler),
    });
    let kind = match kind(service, handler) {
        HandlerConcurrency::Plain => None,
        HandlerConcurrency::Exclusive => Some("Exclusive"),
        HandlerConcurrency::Shared => Some("Shared"),
        HandlerConcurrency::Run => Some("Workflow"),
    };
    let input = handler.input.as_ref();
    let output = handler.output.as_ref();
    let said = ServiceRetention::of_handler(handler);
    let kept = |said: Option<Millis>| said.map(|kept| Json_::from(length(kept)));
    let optional = [
        ("idempotency_retention", kept(said.idempotency)),
        ("workflow_completion_retention", kept(said.completion)),
        ("journal_retention", kept(said.journal)),
        ("ty", kind.map(Json_::from)),
        ("input_description", input.and_then(|input| input.content_type.clone()).map(Json_::from)),
        ("output_description", output.and_then(|it| it.content_type.clone()).map(Json_::from)),
        ("input_json_schema", input.and_then(|input| input.json_schema.clone())),
        ("output_json_schema", output.and_then(|output| output.json_schema.clone())),
        ("enable_lazy_state", handler.enable_lazy_state.map(Json_::from)),
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

/// The parts of a retry policy that a handler overrides.
fn own_policy(handler: &ManifestHandler) -> Json_ {
    let text = |ms: u64| Json_::from(length(Millis(i64::try_from(ms).unwrap_or(i64::MAX))));
    let own: [(&str, Option<Json_>); 4] = [
        ("initial_interval", handler.retry_policy_initial_interval.map(text)),
        ("exponentiation_factor", handler.retry_policy_exponentiation_factor.map(Json_::from)),
        ("max_interval", handler.retry_policy_max_interval.map(text)),
        (
            "on_max_attempts",
            handler.retry_policy_on_max_attempts.map(|end| match end {
                OnMaxAttempts::Pause => Json_::from("Pause"),
                OnMaxAttempts::Kill => Json_::from("Kill"),
            }),
        ),
    ];
    // Tools expect this field in every policy.
    let mut policy = json!({ "max_attempts": handler.retry_policy_max_attempts });
    for (name, value) in own {
        value.into_iter().for_each(|value| policy[name] = value);
    }
    policy
}

fn policy(policy: &HandlerRetryPolicy) -> Json_ {
    json!({
        "initial_interval": length(policy.initial),
        "exponentiation_factor": policy.factor,
        "max_interval": length(policy.longest),
        "max_attempts": policy.most,
        "on_max_attempts": if policy.fails { "Kill" } else { "Pause" },
    })
}

/// Formats a duration in the form that tools use: `1d`, `1m 30s`.
fn length(length: Millis) -> String {
    let millis = u64::try_from(length.0).unwrap_or_default();
    let (days, rest) = (millis / DAY_MS, millis % DAY_MS);
    let rest = humantime::format_duration(Duration::from_millis(rest)).to_string();
    match (days, millis % DAY_MS) {
        (0, _) => rest,
        (_, 0) => format!("{days}d"),
        _ => format!("{days}d {rest}"),
    }
}
