//! The documentation, for browsers: it is that of this version, and holds nothing of this host.

use axum::{
    Router,
    extract::{Path, Query},
    http::HeaderMap,
    response::{Redirect, Response},
    routing::get,
};
use segno_docs::{Asset, POLICY, page, search};
use serde::Deserialize;

use super::{Api, ApiError, served::Served};

/// The routes of the documentation.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/docs", get(async || Redirect::permanent("/docs/")))
        .route("/docs/", get(async |headers: HeaderMap| at("", &headers)))
        .route("/docs/search", get(find))
        .route(
            "/docs/{*page}",
            get(async |Path(page): Path<String>, headers: HeaderMap| at(&page, &headers)),
        )
}

/// What was typed.
#[derive(Deserialize)]
struct Typed {
    #[serde(default)]
    q: String,
}

async fn find(Query(typed): Query<Typed>, headers: HeaderMap) -> Response {
    answer(&search(&typed.q), &headers)
}

fn at(address: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let found = page(address);
    let found = found.ok_or_else(|| ApiError::UnknownRoute { path: format!("/docs/{address}") })?;
    Ok(answer(found, headers))
}

fn answer(asset: &Asset, headers: &HeaderMap) -> Response {
    Served { asset, caching: "no-cache", policy: POLICY }.answer(headers)
}
