//! The ingress of Restate, for callers.

mod awakeables;
mod call;
mod delay;
mod results;
mod target;

pub(crate) use self::{call::new_id, delay::parse as parse_delay};
use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request, State},
    http::Method,
    middleware,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{
    error::{ID_HEADER, IngressError, IngressResult},
    guard::{self, SenderGuard},
    openapi as described,
    path::SplitPath,
};
use crate::front::ServicesApi;

/// Builds the routes of the ingress.
pub fn router(api: ServicesApi) -> Router {
    let origins = api.settings.origins.clone();
    let guard = SenderGuard { api: api.clone(), origins: origins.clone() };
    let router = Router::new()
        .fallback(route)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(guard, guard::guard));
    let router = match origins.layer([ID_HEADER]) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    router.with_state(api)
}

async fn route(State(api): State<ServicesApi>, request: Request) -> Response {
    let routed = Box::pin(routed(api, request)).await;
    routed.unwrap_or_else(IntoResponse::into_response)
}

async fn routed(api: ServicesApi, request: Request) -> IngressResult {
    let segments = SplitPath::of(request.uri().path())
        .ok_or_else(|| IngressError::new(400, "the path is no UTF-8"))?;
    let (is_get, is_post) = (request.method() == Method::GET, request.method() == Method::POST);
    match segments.all().as_slice() {
        ["restate", "health"] | ["health"] => match is_get {
            true => health(&api).await,
            false => wrong_method(),
        },
        ["openapi"] => match is_get {
            true => openapi(&api).await,
            false => wrong_method(),
        },
        ["restate", "invocation", named @ .., how @ ("attach" | "output")] => match is_get {
            true => results::of_invocation(&api, named, *how == "attach").await,
            false => wrong_method(),
        },
        ["restate", how @ ("attach" | "output"), id] => match is_get {
            true => results::by_id(&api, id, *how == "attach").await,
            false => wrong_method(),
        },
        ["restate", how @ ("attach" | "output" | "lookup")] => match is_post {
            true => results::by_body(&api, request, how).await,
            false => wrong_method(),
        },
        ["restate", "workflow", name, key, how @ ("attach" | "output")] => match is_get {
            true => results::of_workflow(&api, name, key, *how == "attach").await,
            false => wrong_method(),
        },
        ["restate", "awakeables" | "a", id, how @ ("resolve" | "reject")] => match is_post {
            true => awakeables::complete(api, request, id, *how == "resolve").await,
            false => wrong_method(),
        },
        ["restate", "call", target @ ..] => {
            called(api, request, None, CallForm::Call, target).await
        }
        ["restate", "send", target @ ..] => {
            called(api, request, None, CallForm::Send, target).await
        }
        ["restate", "scope", scope, how @ ("call" | "send"), target @ ..] => {
            let how = if *how == "call" { CallForm::Call } else { CallForm::Send };
            called(api, request, Some(scope), how, target).await
        }
        ["restate", "awakeables" | "a", _, _] => {
            Err(IngressError::new(404, "an awakeable is completed by /resolve or /reject"))
        }
        ["restate", "invocation" | "workflow" | "awakeables" | "a" | "scope", ..] | ["restate"] => {
            Err(IngressError::new(400, "the path is too short, or too long"))
        }
        ["restate", ..] => Err(IngressError::new(404, "there is no such route")),
        [target @ .., "send"] if target.len() >= 2 => {
            called(api, request, None, CallForm::Send, target).await
        }
        [_, _, _, _, ..] => {
            Err(IngressError::new(400, "the path is too long: a slash in a key is written %2F"))
        }
        target if target.len() >= 2 => called(api, request, None, CallForm::Call, target).await,
        _ => Err(IngressError::new(
            400,
            "the path names no handler: use /SERVICE/HANDLER or /OBJECT/KEY/HANDLER",
        )),
    }
}

/// Form of a call.
enum CallForm {
    /// The response contains the result.
    Call,
    /// One-way: the response contains the invocation id.
    Send,
}

/// Calls the handler in these path segments.
async fn called(
    api: ServicesApi,
    request: Request,
    scope: Option<&str>,
    form: CallForm,
    target: &[&str],
) -> IngressResult {
    // A handler without a body may be called with GET.
    match (form, request.method()) {
        (CallForm::Call, &Method::GET | &Method::POST) => {
            call::call(api, request, scope, target).await
        }
        (CallForm::Send, &Method::GET | &Method::POST) => {
            call::send(api, request, scope, target).await
        }
        _ => wrong_method(),
    }
}

fn wrong_method() -> IngressResult {
    Err(IngressError::new(405, "this is no method of that route"))
}

async fn health(api: &ServicesApi) -> IngressResult {
    let services = api.services.names().await?;
    Ok(Json(json!({ "services": services })).into_response())
}

/// Returns the OpenAPI document of all public services.
async fn openapi(api: &ServicesApi) -> IngressResult {
    let mut services = Vec::new();
    for name in api.services.names().await? {
        let (_, deployment) = api.services.of_service(&name).await?;
        services.extend(deployment.service(&name).cloned());
    }
    Ok(Json(described::document(&services)).into_response())
}
