//! Registration of deployments.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{
    Json,
    extract::Request,
    http::{StatusCode, header},
    response::IntoResponse,
};
use segno_api::{
    model::{Function, FunctionKind, ModuleDescription, ObjectAccess},
    shared::unexpected,
};
use segno_core::{address::service_alias, command::Command, id::Digest, reply::Reply, value::Text};
use segno_restate::manifest::{Manifest, ManifestVersion, ServiceType};
use segno_store::NewModule;
use serde::{Deserialize, Deserializer};

use super::{
    super::{
        error::{AdminError, AdminResult},
        request::json_of_operator,
    },
    deployments,
};
use crate::{
    ConnectError, Deployment, DeploymentAddress, HandlerConcurrency, front::ServicesApi, kind,
};

/// Restate's error code: no common protocol version.
const VERSIONS: &str = "META0012";
/// Restate's error code: the discovery request failed.
const DISCOVERY: &str = "META0003";
/// Restate's error code: the deployment is registered, but its services have changed.
const CHANGED: &str = "META0004";
/// Restate's error code: a service has changed its kind.
const KIND: &str = "META0006";
/// Maximum number of handlers of a deployment, over all services. Lists and descriptions of
/// functions are not divided into pages.
const HANDLERS: usize = 5_000;

/// The body of a registration.
#[derive(Deserialize)]
struct RegistrationRequest {
    uri: String,
    #[serde(default, deserialize_with = "unless_null")]
    additional_headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "unless_null")]
    use_http_11: bool,
    #[serde(default, deserialize_with = "unless_null")]
    force: bool,
    #[serde(default, deserialize_with = "unless_null")]
    breaking: bool,
    #[serde(default, deserialize_with = "unless_null")]
    dry_run: bool,
}

/// Reads `null` as the default: Restate's command sends it for unset options.
fn unless_null<'a, T: Default + Deserialize<'a>, D: Deserializer<'a>>(
    from: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// Discovers the services of a deployment, and routes new invocations of them there.
pub(super) async fn register(api: ServicesApi, request: Request) -> AdminResult {
    let asked: RegistrationRequest = json_of_operator(&api, request).await?;
    let endpoint = endpoint(&api, &asked)?;
    let deployment = discovered(&api, &endpoint).await?;
    let known = deployments::all(&api).await?;
    let at_this_address = known.iter().filter(|known| known.deployment.uri == deployment.uri);
    let id = deployment.id();
    let same = at_this_address.clone().any(|known| known.deployment.id() == id);
    if !same && !asked.force && at_this_address.count() > 0 {
        let message = format!(
            "`{}` is registered, and has other services now: register new code at another address, so that invocations continue on the code they began with, or set `force`",
            deployment.uri
        );
        return Err(AdminError::new(409, message).with_code(CHANGED));
    }
    if !asked.force && !asked.breaking {
        of_the_same_kind(&api, &deployment).await?;
    }
    // Tools see in the status of a dry run if there is anything to register.
    let status = if same { StatusCode::OK } else { StatusCode::CREATED };
    // An unchanged deployment keeps its stored form.
    let deployment = match known.iter().find(|known| same && known.deployment.id() == id) {
        Some(known) if !asked.force => (*known.deployment).clone(),
        _ => deployment.following(known.iter().map(|known| &*known.deployment)),
    };
    let location = [(header::LOCATION, format!("deployments/{id}"))];
    let answer = (status, location, Json(deployments::view(&api, &deployment))).into_response();
    if asked.dry_run {
        return Ok(answer);
    }
    // Stored changes of its settings are kept, unless the registration is forced.
    if !same || asked.force {
        keep(&api, &deployment).await?;
        // Services that the deployment no longer has at this address exist nowhere else.
        let gone = known.iter().filter(|known| known.deployment.uri == deployment.uri);
        let gone: BTreeSet<&str> = gone
            .flat_map(|known| known.deployment.manifest.services.iter())
            .map(|service| service.name.as_str())
            .filter(|name| deployment.service(name).is_none())
            .collect();
        for service in gone {
            let (_, stands_for) = api.services.of_service(service).await?;
            if stands_for.uri == deployment.uri {
                send_to(&api, service_alias(service).into(), &deployment).await?;
            }
        }
    }
    Ok(answer)
}

/// Stores a deployment, and routes new invocations of its services there.
async fn keep(api: &ServicesApi, deployment: &Deployment) -> AdminResult<()> {
    put(api, deployment).await?;
    for alias in deployment.aliases() {
        send_to(api, alias, deployment).await?;
    }
    api.modules().await?;
    Ok(())
}

/// Replaces a deployment: routes new invocations from the former one to the new one. Services that
/// have moved to another deployment meanwhile stay there.
pub(super) async fn replace(
    api: &ServicesApi,
    former: Digest,
    deployment: &Deployment,
) -> AdminResult<()> {
    put(api, deployment).await?;
    api.services.forget();
    for service in &deployment.manifest.services {
        let (stands_for, _) = api.services.of_service(&service.name).await?;
        if stands_for == former {
            send_to(api, service_alias(&service.name).into(), deployment).await?;
        }
    }
    api.modules().await?;
    Ok(())
}

async fn put(api: &ServicesApi, deployment: &Deployment) -> AdminResult<()> {
    let kept: Arc<[u8]> = deployment.to_bytes().into();
    let digest = Digest::of(&kept);
    let module = NewModule {
        facts: deployment.facts(),
        description: serde_json::to_string(&description(deployment))
            .map_err(|error| AdminError::new(500, error.to_string()))?,
        ..NewModule::plain(digest, kept, api.host.env.clock.now())
    };
    Ok(api.host.store.modules().put(module).await?)
}

/// Routes new invocations of a service to a stored deployment.
async fn send_to(api: &ServicesApi, alias: Text, deployment: &Deployment) -> AdminResult<()> {
    let module = Digest::of(&deployment.to_bytes());
    let reply = api.execute(Command::Deploy { alias, module }).await?;
    api.services.forget();
    match reply {
        Reply::Done => Ok(()),
        Reply::Refused(refusal) => Err(refusal.into()),
        other => Err(unexpected(&other).into()),
    }
}

fn endpoint(api: &ServicesApi, asked: &RegistrationRequest) -> AdminResult<DeploymentAddress> {
    let refuse = |why: &str| {
        AdminError::new(400, format!("`{}` is no address of a deployment: {why}", asked.uri))
    };
    let url = reqwest::Url::parse(&asked.uri).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("use http://… or https://…"));
    }
    api.reach.allows(&url).map_err(|private| AdminError::new(403, private.to_string()))?;
    Ok(DeploymentAddress {
        uri: url.as_str().trim_end_matches('/').to_owned(),
        headers: asked.additional_headers.clone(),
        http11: asked.use_http_11,
    })
}

/// Discovers the services of a deployment.
async fn discovered(api: &ServicesApi, endpoint: &DeploymentAddress) -> AdminResult<Deployment> {
    let connector = api.services.connector();
    let accept = ManifestVersion::accept_all();
    let found = connector.discover(endpoint, &accept).await;
    let found = found.map_err(|error| {
        let status = match error {
            ConnectError::Unreachable { .. } => 500,
            ConnectError::Private { .. } => 403,
            _ => 400,
        };
        AdminError::new(status, error.to_string()).with_code(DISCOVERY)
    })?;
    let invalid = |why: String| {
        AdminError::new(400, format!("`{}` is no deployment of services: {why}", endpoint.uri))
            .with_code(DISCOVERY)
    };
    let version: ManifestVersion =
        found.content_type.parse().map_err(|unknown| invalid(format!("{unknown}")))?;
    let manifest =
        Manifest::read(&found.body, version).map_err(|error| invalid(error.to_string()))?;
    if manifest.services.is_empty() {
        return Err(invalid("it has no services".to_owned()));
    }
    let handlers: usize = manifest.services.iter().map(|service| service.handlers.len()).sum();
    if handlers > HANDLERS {
        return Err(invalid(format!(
            "it has {handlers} handlers, and {HANDLERS} are the maximum: register its services as several deployments"
        )));
    }
    let deployment = Deployment::new(endpoint, found.server, manifest);
    deployment
        .version()
        .map_err(|none| AdminError::new(400, none.to_string()).with_code(VERSIONS))?;
    Ok(deployment)
}

/// Refuses services whose kind has changed.
async fn of_the_same_kind(api: &ServicesApi, deployment: &Deployment) -> AdminResult<()> {
    for service in &deployment.manifest.services {
        let Ok((_, before)) = api.services.of_service(&service.name).await else { continue };
        let Some(before) = before.service(&service.name) else { continue };
        if before.ty != service.ty {
            let message = format!(
                "the service `{}` was {}, and is {} now: its state and its invocations would not fit; set `breaking` to register it anyway",
                service.name,
                said(before.ty),
                said(service.ty)
            );
            return Err(AdminError::new(409, message).with_code(KIND));
        }
    }
    Ok(())
}

fn said(ty: ServiceType) -> &'static str {
    match ty {
        ServiceType::Service => "a service without keys",
        ServiceType::VirtualObject => "a virtual object",
        ServiceType::Workflow => "a workflow",
    }
}

/// Describes the handlers as functions of a module.
fn description(deployment: &Deployment) -> ModuleDescription {
    let functions = deployment.handlers().map(|(service, handler)| Function {
        name: format!("{}/{}", service.name, handler.name),
        kind: FunctionKind::Workflow,
        summary: handler.documentation.clone(),
        input_schema: handler.input.as_ref().and_then(|input| input.json_schema.clone()),
        output_schema: handler.output.as_ref().and_then(|output| output.json_schema.clone()),
        access: match kind(service, handler) {
            HandlerConcurrency::Plain => None,
            HandlerConcurrency::Exclusive | HandlerConcurrency::Run => {
                Some(ObjectAccess::Exclusive)
            }
            HandlerConcurrency::Shared => Some(ObjectAccess::Shared),
        },
        runs_once: kind(service, handler) == HandlerConcurrency::Run,
        signals: true,
        messages: Vec::new(),
        handlers: Vec::new(),
        timeout_ms: None,
        retry: None,
        limit: None,
        commits_each: false,
        expose: Vec::new(),
    });
    ModuleDescription { functions: functions.collect(), ..ModuleDescription::default() }
}
