//! The documentation, for browsers and for language models. It describes this version and contains no data of this host.

use axum::{
    Router,
    extract::{Path, Query},
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use segno_docs::{Asset, POLICY, llms_file, missing, page, search};
use serde::Deserialize;

use super::{Api, ApiError, served::ServedFile};

/// The routes of the documentation.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/docs", get(async || Redirect::permanent("/docs/")))
        .route("/docs/", get(async |headers: HeaderMap| at("", &headers)))
        .route("/docs/search", get(find))
        .route("/llms.txt", get(text))
        .route("/llms-full.txt", get(text))
        .route(
            "/docs/{*page}",
            get(async |Path(page): Path<String>, headers: HeaderMap| at(&page, &headers)),
        )
}

/// The search text.
#[derive(Deserialize)]
struct DocsSearch {
    #[serde(default)]
    q: String,
}

async fn find(Query(typed): Query<DocsSearch>, headers: HeaderMap) -> Response {
    answer(&search(&typed.q), &headers)
}

async fn text(uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let unknown = || ApiError::UnknownRoute { path: uri.path().to_owned() };
    llms_file(uri.path()).map(|found| answer(found, &headers)).ok_or_else(unknown)
}

fn at(address: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    match page(address) {
        Some(found) => Ok(answer(found, headers)),
        None if is_person(headers) => {
            let found = answer(&missing(address), &HeaderMap::new());
            Ok((StatusCode::NOT_FOUND, found).into_response())
        }
        None => Err(ApiError::UnknownRoute { path: format!("/docs/{address}") }),
    }
}

/// Returns true if a browser requests a page. Programs accept anything, or JSON.
fn is_person(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

fn answer(asset: &Asset, headers: &HeaderMap) -> Response {
    ServedFile { asset, caching: "no-cache", policy: POLICY }.answer(headers)
}
