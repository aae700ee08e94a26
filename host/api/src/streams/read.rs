//! Reads: at once, by long poll, or as server-sent events.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use segno_core::{id::StreamId, stream::DurableStream};
use serde::Deserialize;

use super::{
    answer::{set, set_end, set_lifetime},
    found::{FoundStream, data, extend_lifetime, find, set_data_headers},
    live,
    offset::{ReadStart, offset},
    server_sent,
};
use crate::{Api, ApiError, body::PathSegment};

/// Parameters of a read.
#[derive(Debug, Default, Deserialize)]
struct ReadQuery {
    offset: Option<String>,
    live: Option<String>,
    cursor: Option<String>,
}

/// `GET`: reads from an offset.
pub(super) async fn read(
    State(api): State<Api>,
    PathSegment(path): PathSegment,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = StreamId::new(path);
    let query = parse(&uri)?;
    let start = query.offset.as_deref().map(ReadStart::parse).transpose()?;
    match (query.live.as_deref(), start) {
        (None, start) => at_once(&api, &id, start.unwrap_or(ReadStart::At(0)), &headers).await,
        (Some("long-poll"), Some(start)) => {
            live::long_poll(&api, &id, start, query.cursor.as_deref()).await
        }
        (Some("sse"), Some(start)) => server_sent::events(&api, id, start, query.cursor).await,
        (Some("long-poll" | "sse"), None) => {
            Err(ApiError::BadQuery("`offset` is missing: a live read needs one".to_owned()))
        }
        (Some(other), _) => Err(ApiError::BadQuery(format!(
            "`live` is `{}`: long-poll or sse",
            other.escape_debug()
        ))),
    }
}

/// `HEAD`: describes the stream.
pub(super) async fn describe(
    State(api): State<Api>,
    PathSegment(path): PathSegment,
) -> Result<Response, ApiError> {
    let FoundStream { stream, closed } = match find(&api, &StreamId::new(path)).await {
        Ok(found) => found,
        Err(failure) => return failure.answer(),
    };
    let mut answer = StatusCode::OK.into_response();
    let headers = answer.headers_mut();
    set(headers, header::CONTENT_TYPE, &stream.content_type);
    set_end(headers, stream.tail, closed);
    set_lifetime(headers, &stream);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// Each parameter is given once.
fn parse(uri: &Uri) -> Result<ReadQuery, ApiError> {
    axum::extract::Query::try_from_uri(uri)
        .map(|axum::extract::Query(query)| query)
        .map_err(|rejection| ApiError::BadQuery(rejection.body_text()))
}

async fn at_once(
    api: &Api,
    id: &StreamId,
    start: ReadStart,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let found = match find(api, id).await {
        Ok(found) => found,
        Err(failure) => return failure.answer(),
    };
    extend_lifetime(api, &found.stream).await?;
    let (from, is_now) = match start {
        ReadStart::At(from) => (from, false),
        ReadStart::Now => (found.stream.tail, true),
    };
    let part = data(api, &found, from).await?;
    let is_last = part.end >= found.stream.tail;
    let closed = found.closed && is_last;
    let etag = etag(&found.stream, from, part.end, closed);
    let known = request.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes);
    let not_modified = !is_now && known == Some(etag.as_bytes());
    let mut answer = match not_modified {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::empty().into_response(),
    };
    let headers = answer.headers_mut();
    let end = part.end;
    set_data_headers(headers, &found.stream, end, is_last, closed);
    let cache = if is_now { "no-store" } else { "private, no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    if !is_now {
        set(headers, header::ETAG, &etag);
    }
    if !not_modified {
        *answer.body_mut() = Body::from(part.into_body(&found.stream));
    }
    Ok(answer)
}

fn etag(stream: &DurableStream, from: u64, end: u64, closed: bool) -> String {
    let closed = if closed { ":c" } else { "" };
    format!("\"{}:{}:{}{closed}\"", stream.created_at.0, offset(from), offset(end))
}
