//! Whether the host lives and works.

use axum::{Json, extract::State};
use segno_core::id::PromiseId;

use super::{
    Api, ApiError,
    model::{Health, Readiness},
    openapi::Refusals,
};

/// Whether the process answers. Needs no token.
#[utoipa::path(get, path = "/health", tag = "host", responses((status = 200, body = Health), Refusals))]
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Whether the store answers and the host takes work. Needs no token.
#[utoipa::path(get, path = "/ready", tag = "host", responses((status = 200, body = Readiness), Refusals))]
pub async fn ready(State(api): State<Api>) -> Result<Json<Readiness>, ApiError> {
    if api.stopping.is_cancelled() {
        return Err(ApiError::NotReady("stopping"));
    }
    // Any id does: what is asked is whether the store answers.
    api.host.store.promise(&PromiseId::from("ready")).await?;
    Ok(Json(Readiness { status: "ready".to_owned() }))
}
