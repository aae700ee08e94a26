//! Files for browsers. They are embedded in the host and contain no data of it, so they need no
//! token.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use segno_asset::Asset;

/// Path prefixes of the files.
const PLACES: [&str; 2] = ["/console", "/docs"];
/// Paths of further files.
const FILES: [&str; 2] = ["/llms.txt", "/llms-full.txt"];

/// Returns true if a path is that of a file.
pub(super) fn serves(path: &str) -> bool {
    let below = |place: &&str| path.strip_prefix(*place);
    FILES.contains(&path)
        || PLACES.iter().filter_map(below).any(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A file with its response headers.
pub(super) struct ServedFile<'a> {
    /// The file.
    pub asset: &'a Asset,
    /// The value of `Cache-Control`.
    pub caching: &'static str,
    /// The value of `Content-Security-Policy`.
    pub policy: &'static str,
}

impl ServedFile<'_> {
    /// Builds the response to a request with these headers.
    pub(crate) fn answer(self, headers: &HeaderMap) -> Response {
        let mut response = Response::new(Body::empty());
        let said = response.headers_mut();
        let fixed = [
            (header::CONTENT_TYPE, self.asset.content_type),
            (header::CACHE_CONTROL, self.caching),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::VARY, "accept-encoding"),
        ];
        said.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
        if let Ok(tag) = HeaderValue::from_str(self.asset.etag()) {
            said.insert(header::ETAG, tag);
        }
        if lists(headers, &header::IF_NONE_MATCH, self.asset.etag()) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        let takes_gzip = lists(headers, &header::ACCEPT_ENCODING, "gzip");
        *response.body_mut() = match self.asset.compressed().filter(|_| takes_gzip) {
            Some(compressed) => {
                said.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                Body::from(compressed)
            }
            None => Body::from(self.asset.bytes()),
        };
        response.into_response()
    }
}

/// Returns true if a list header contains this item.
fn lists(headers: &HeaderMap, name: &HeaderName, item: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut items = values.flat_map(|value| value.split(',')).map(str::trim);
    items.any(|listed| listed == item || listed.split(';').next() == Some(item))
}
