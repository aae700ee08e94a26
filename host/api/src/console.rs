//! The files of the console, for browsers. They contain no data of this host, so they need no
//! token. All displayed data comes from `/v1`.

use axum::{
    Router,
    extract::Path,
    http::HeaderMap,
    response::{Redirect, Response},
    routing::get,
};
use segno_console::{Asset, POLICY, asset, page};

use super::{Api, ApiError, served::ServedFile};

/// Routes of the console. Every path below `/console/` that is not a file is a page, which the
/// script in the browser distinguishes.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/console", get(async || Redirect::permanent("/console/")))
        .route("/console/", get(first))
        .route("/console/{*page}", get(first))
        .route("/console/assets/{digest}/{*path}", get(file))
}

async fn first(headers: HeaderMap) -> Response {
    answer(page(), "no-cache", &headers)
}

async fn file(
    Path((digest, path)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let found = asset(&digest, &path);
    let found = found.ok_or_else(|| ApiError::UnknownRoute {
        path: format!("/console/assets/{digest}/{path}"),
    })?;
    Ok(answer(found, "public, max-age=31536000, immutable", &headers))
}

fn answer(asset: &'static Asset, caching: &'static str, headers: &HeaderMap) -> Response {
    ServedFile { asset, caching, policy: POLICY }.answer(headers)
}
