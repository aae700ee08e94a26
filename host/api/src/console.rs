//! The files of the console, for browsers. They hold nothing of this host, so they need no token;
//! all that they show comes from `/v1`.

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use segno_console::{Asset, POLICY, asset, page};

use super::{Api, ApiError};

/// Whether the console answers at this path.
pub(super) fn serves(path: &str) -> bool {
    path == "/console" || path.starts_with("/console/")
}

/// The routes of the console. Every address below `/console/` that is no file is one of its pages,
/// which the script in the browser tells apart.
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
    let mut response = Response::new(Body::empty());
    let said = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::VARY, "accept-encoding"),
    ];
    said.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    if let Ok(tag) = HeaderValue::from_str(asset.etag()) {
        said.insert(header::ETAG, tag);
    }
    if lists(headers, &header::IF_NONE_MATCH, asset.etag()) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    *response.body_mut() = match lists(headers, &header::ACCEPT_ENCODING, "gzip") {
        true => {
            said.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Body::from(asset.compressed())
        }
        false => Body::from(asset.bytes()),
    };
    response.into_response()
}

/// Whether a header is a list that has this item.
fn lists(headers: &HeaderMap, name: &header::HeaderName, item: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut items = values.flat_map(|value| value.split(',')).map(str::trim);
    items.any(|listed| listed == item || listed.split(';').next() == Some(item))
}
