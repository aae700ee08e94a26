//! Services and handlers as JSON.

use std::{collections::BTreeMap, time::Duration};

use segno_core::time::Millis;
use segno_engine::recovery::retention::RetentionPeriod;
use segno_restate::manifest::{ManifestHandler, OnMaxAttempts, Service, ServiceType};
use serde_json::{Value as Json, json};

use crate::{Deployment, HandlerConcurrency, HandlerRetryPolicy, ServiceRetention, kind};

const DAY_MS: u64 = 86_400_000;

/// Describes a service. `silent` is the retention period for services without a setting.
pub(super) fn service(deployment: &Deployment, service: &Service, silent: RetentionPeriod) -> Json {
    let handlers: Vec<Json> = service.handlers.iter().map(|of| handler(service, of)).collect();
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

/// Describes a handler.
pub(super) fn handler(service: &Service, handler: &ManifestHandler) -> Json {
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
    let kept = |said: Option<Millis>| said.map(|kept| Json::from(length(kept)));
    let optional = [
        ("idempotency_retention", kept(said.idempotency)),
        ("workflow_completion_retention", kept(said.completion)),
        ("journal_retention", kept(said.journal)),
        ("ty", kind.map(Json::from)),
        ("input_description", input.and_then(|input| input.content_type.clone()).map(Json::from)),
        ("output_description", output.and_then(|it| it.content_type.clone()).map(Json::from)),
        ("input_json_schema", input.and_then(|input| input.json_schema.clone())),
        ("output_json_schema", output.and_then(|output| output.json_schema.clone())),
        ("enable_lazy_state", handler.enable_lazy_state.map(Json::from)),
    ];
    for (name, value) in optional {
        value.into_iter().for_each(|value| shown[name] = value);
    }
    described(&mut shown, handler.documentation.as_ref(), handler.metadata.as_ref());
    shown
}

fn described(
    shown: &mut Json,
    documentation: Option<&String>,
    metadata: Option<&BTreeMap<String, String>>,
) {
    documentation.into_iter().for_each(|text| shown["documentation"] = text.as_str().into());
    let metadata = metadata.filter(|metadata| !metadata.is_empty());
    metadata.into_iter().for_each(|metadata| shown["metadata"] = json!(metadata));
}

/// The parts of a retry policy that a handler overrides.
fn own_policy(handler: &ManifestHandler) -> Json {
    let text = |ms: u64| Json::from(length(Millis(i64::try_from(ms).unwrap_or(i64::MAX))));
    let own: [(&str, Option<Json>); 4] = [
        ("initial_interval", handler.retry_policy_initial_interval.map(text)),
        ("exponentiation_factor", handler.retry_policy_exponentiation_factor.map(Json::from)),
        ("max_interval", handler.retry_policy_max_interval.map(text)),
        (
            "on_max_attempts",
            handler.retry_policy_on_max_attempts.map(|end| match end {
                OnMaxAttempts::Pause => Json::from("Pause"),
                OnMaxAttempts::Kill => Json::from("Kill"),
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

fn policy(policy: &HandlerRetryPolicy) -> Json {
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
