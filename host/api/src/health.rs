//! Liveness and readiness of the host.

use axum::{Json, Router, extract::State, routing::get};
use segno_core::time::Millis;

use super::{
    Api, ApiError,
    model::{Health, Readiness},
    refusals::Refusals,
};

/// Maximum time for the store to confirm that it commits.
const LONGEST: Millis = Millis(5_000);

/// Answers as long as the process is alive. Needs no token.
#[utoipa::path(get, path = "/health", tag = "host", responses((status = 200, body = Health), Refusals))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Answers 200 if the host accepts work and its store commits. Needs no token.
#[utoipa::path(get, path = "/ready", tag = "host", responses((status = 200, body = Readiness), Refusals))]
pub(crate) async fn ready(State(api): State<Api>) -> Result<Json<Readiness>, ApiError> {
    if api.stopping.is_cancelled() {
        return Err(ApiError::NotReady("stopping"));
    }
    let checked = api.host.env.within(LONGEST, api.host.store.check_writes()).await;
    checked
        .ok_or(ApiError::NotReady("waiting for its store, which has not answered for 5 s"))??;
    let missing = api.host.store.missing();
    Ok(Json(Readiness { status: "ready".to_owned(), missing }))
}

/// Routes for connections beyond the limit: health checks only.
pub(super) fn only(api: Api) -> Router {
    let full = async || ApiError::Overloaded("as many connections as it takes are being answered");
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .fallback(full)
        .with_state(api)
}
