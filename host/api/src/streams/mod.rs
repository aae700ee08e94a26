//! Durable streams over HTTP, by the Durable Streams protocol (version 1.0, with closure and forks).
//!
//! A stream is an address under `/v1/stream/`. That of an execution is `ID/stream/NAME`; any other
//! path is a stream that belongs to nothing. `PUT` creates or forks, `POST` appends and closes,
//! `GET` reads from an offset (at once, by long poll, or as server-sent events), `HEAD` describes,
//! `DELETE` removes.

mod answer;
mod cursor;
mod encoding;
mod found;
pub(crate) mod headers;
pub(crate) mod list;
mod live;
mod offset;
mod read;
mod request;
mod server_sent;
mod write;

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderName, HeaderValue, header},
    middleware,
    response::Response,
    routing,
};

use self::headers::{
    CLOSED, CURSOR, EXPECTED_SEQ, EXPIRES_AT, NEXT_OFFSET, PRODUCER_EPOCH, PRODUCER_SEQ,
    RECEIVED_SEQ, TTL, UP_TO_DATE,
};
use super::{Api, access, metrics};

/// The headers that pages of allowed origins may read.
const HEADERS: [HeaderName; 12] = [
    NEXT_OFFSET,
    UP_TO_DATE,
    CURSOR,
    CLOSED,
    TTL,
    EXPIRES_AT,
    PRODUCER_EPOCH,
    PRODUCER_SEQ,
    EXPECTED_SEQ,
    RECEIVED_SEQ,
    header::ETAG,
    header::LOCATION,
];

/// The routes of the protocol, with the guard of the API. They are not in the OpenAPI document,
/// because a stream has the content type of its author.
pub(crate) fn routes(api: Api) -> Router {
    let methods = routing::put(write::create)
        .post(write::append)
        .delete(write::delete)
        .get(read::read)
        .head(read::describe);
    let cors = api.origins.layer(HEADERS);
    let routes = Router::new()
        .route("/v1/stream/{*path}", methods)
        // Bodies are limited when they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(api.clone(), access::guard))
        .layer(middleware::from_fn_with_state(api.clone(), metrics::count))
        .layer(middleware::map_response_with_state(api.clone(), with_security_headers))
        .with_state(api);
    match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    }
}

/// A browser must not guess another content type, nor load the data into pages of other sites.
async fn with_security_headers(State(api): State<Api>, mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    let may_load = if api.origins.is_empty() { "same-origin" } else { "cross-origin" };
    headers.insert(policy, HeaderValue::from_static(may_load));
    answer
}
