//! The admin API of Restate, for operators.

mod choice;
mod deployments;
mod invocations;
mod query;
mod register;
mod restart;
mod serdes;
mod service_view;
mod services;
mod state;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request, State},
    http::Method,
    middleware,
    response::{IntoResponse, Response},
};
use segno_api::AllowedOrigins;
use serde_json::json;

use super::{
    error::{AdminError, AdminResult},
    guard::{self, SenderGuard},
    path::{SplitPath, joined},
    request::parameter,
};
use crate::front::ServicesApi;

/// The supported versions of the routes, oldest first.
const VERSIONS: [u32; 3] = [2, 3, 4];

/// Builds the routes of the admin API.
pub fn router(api: ServicesApi) -> Router {
    let guard = SenderGuard { api: api.clone(), origins: AllowedOrigins::default() };
    Router::new()
        .fallback(route)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(guard, guard::guard))
        .with_state(api)
}

async fn route(State(api): State<ServicesApi>, request: Request) -> Response {
    let routed = Box::pin(routed(api, request)).await;
    routed.unwrap_or_else(IntoResponse::into_response)
}

async fn routed(api: ServicesApi, request: Request) -> AdminResult {
    let segments = SplitPath::of(request.uri().path())
        .ok_or_else(|| AdminError::new(400, "the path is no UTF-8"))?;
    let method = request.method().clone();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let segments = segments.all();
    // Restate's command line begins each path with the newest route version that both sides
    // support.
    let path = match segments.as_slice() {
        [version, path @ ..] if VERSIONS.iter().any(|known| *version == format!("v{known}")) => {
            path
        }
        path => path,
    };
    match (method.as_str(), path) {
        ("GET", ["health"]) => Ok(().into_response()),
        ("GET", ["version"]) => Ok(version(&api)),
        ("GET", ["deployments"]) => deployments::list(&api).await,
        ("POST", ["deployments"]) => register::register(api, request).await,
        ("GET", ["deployments", id]) => deployments::describe(&api, id).await,
        ("DELETE", ["deployments", id]) => deployments::remove(&api, id, &query).await,
        ("GET", ["services"]) => services::list(&api).await,
        ("GET", ["services", name]) => services::describe(&api, name).await,
        ("PATCH", ["services", name]) => services::change(api, request, name).await,
        ("GET", ["services", name, "openapi"]) => services::openapi(&api, name).await,
        ("GET", ["services", name, "handlers"]) => services::handlers(&api, name).await,
        ("GET", ["services", name, "handlers", handler]) => {
            services::handler(&api, name, handler).await
        }
        ("POST", ["services", name, "state"]) => state::write(api, request, name).await,
        (
            "POST",
            ["internal", "services", name, "serdes", operation @ ("encode" | "decode"), ..],
        ) => serdes::preview(api, request, name, operation).await,
        // There are no Kafka clusters, and so no subscriptions.
        ("GET", ["subscriptions"]) => Ok(Json(json!({ "subscriptions": [] })).into_response()),
        ("GET", ["kafka-clusters"]) => Ok(Json(json!({ "clusters": [] })).into_response()),
        ("POST", ["subscriptions" | "kafka-clusters"]) => {
            Err(AdminError::new(400, "this host reads no Kafka topics"))
        }
        (_, [kind @ ("subscriptions" | "kafka-clusters"), id]) => {
            Err(AdminError::new(404, format!("there is no `{id}` among the {kind}")))
        }
        ("POST", ["query"]) => query::query(api, request).await,
        ("DELETE", ["invocations", id @ ..]) if !id.is_empty() => {
            let how = parameter(&query, "mode").unwrap_or("Cancel");
            invocations::control(&api, &joined(id), &how.to_ascii_lowercase()).await
        }
        ("PATCH" | "POST", ["invocations", id @ .., "restart-as-new"]) if !id.is_empty() => {
            restart::restart(&api, &joined(id), &query).await
        }
        ("PATCH" | "POST", ["invocations", id @ .., "resume"]) if !id.is_empty() => {
            invocations::resume(&api, &joined(id), &query).await
        }
        ("PATCH" | "POST", ["invocations", id @ .., how]) if !id.is_empty() => {
            invocations::control(&api, &joined(id), how).await
        }
        (
            _,
            [
                "health" | "version" | "deployments" | "services" | "invocations" | "query"
                | "subscriptions" | "kafka-clusters",
                ..,
            ],
        ) if known(&method) => Err(AdminError::new(405, "this is no method of that route")),
        _ => Err(AdminError::new(404, "there is no such route")),
    }
}

fn known(method: &Method) -> bool {
    [Method::GET, Method::POST, Method::PATCH, Method::PUT, Method::DELETE].contains(method)
}

fn version(api: &ServicesApi) -> Response {
    let version = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "server": "segno",
        "min_admin_api_version": VERSIONS[0],
        "max_admin_api_version": VERSIONS[VERSIONS.len() - 1],
        "ingress_endpoint": api.settings.ingress.as_deref(),
        "features": {},
        "request_identity_key": api.services.connector().identity(),
    });
    Json(version).into_response()
}
