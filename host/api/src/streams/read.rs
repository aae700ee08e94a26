//! Reads: at once, by long poll, or as server-sent events.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use segno_core::{
    command::Command,
    id::StreamId,
    reply::{Refusal, Reply, StreamRefusal},
    stream::{DurableStream, StreamStatus},
};
use serde::Deserialize;

use super::{
    CURSOR, UP_TO_DATE,
    answer::{refused, set, set_end, set_lifetime},
    cursor::cursor,
    encoding::StreamPart,
    live,
    offset::{ReadStart, offset},
    server_sent,
};
use crate::{Api, ApiError, body::PathSegment};

/// Bytes of data in one answer, unless one append is larger.
const READ_BYTES: usize = 1 << 20;

/// Parameters of a read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ReadQuery {
    offset: Option<String>,
    live: Option<String>,
    pub(super) cursor: Option<String>,
}

/// A stream and what is known of its end.
#[derive(Debug, Clone)]
pub(super) struct FoundStream {
    pub(super) stream: DurableStream,
    /// True if nothing can be appended.
    pub(super) closed: bool,
}

/// Reason why a stream is not read.
pub(super) enum ReadFailure {
    Refused(Refusal),
    /// The execution has not written the stream yet.
    NotYet,
    Failed(ApiError),
}

impl From<ApiError> for ReadFailure {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
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
        (Some("long-poll"), Some(start)) => live::long_poll(&api, &id, start, &query).await,
        (Some("sse"), Some(start)) => server_sent::events(&api, id, start, query, &headers).await,
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

/// Sets the headers of an answer with data up to `end`.
pub(super) fn set_data_headers(
    headers: &mut HeaderMap,
    stream: &DurableStream,
    end: u64,
    is_last: bool,
    closed: bool,
) {
    set(headers, header::CONTENT_TYPE, &stream.content_type);
    set_end(headers, end, closed);
    if is_last {
        headers.insert(UP_TO_DATE, HeaderValue::from_static("true"));
    }
}

/// Sets the cursor of an answer to a live read.
pub(super) fn set_cursor(api: &Api, headers: &mut HeaderMap, given: Option<&str>) {
    set(headers, CURSOR, &next_cursor(api, given));
}

/// The cursor of an answer to a live read.
pub(super) fn next_cursor(api: &Api, given: Option<&str>) -> String {
    cursor(api.host.env.clock.now(), given, api.host.env.runtime.nonce())
}

/// The data from a position on.
pub(super) async fn data(
    api: &Api,
    found: &FoundStream,
    from: u64,
) -> Result<StreamPart, ApiError> {
    if from >= found.stream.tail {
        return Ok(StreamPart { data: Vec::new(), end: from });
    }
    let store = api.look().await?;
    let chunks = store.read().stream_data(&found.stream.id, from, READ_BYTES).await?;
    Ok(StreamPart::of(&chunks, from))
}

/// Finds a stream that was not deleted and has not expired.
pub(super) async fn find(api: &Api, id: &StreamId) -> Result<FoundStream, ReadFailure> {
    let store = api.look().await?;
    let stored = store.read().stream(id).await.map_err(ApiError::from)?;
    let owner = match id.owner() {
        Some(owner) => store.read().promise(&owner).await.map_err(ApiError::from)?,
        None => None,
    };
    let is_pending = owner.as_ref().is_some_and(|row| row.promise.is_pending());
    let absent = || ReadFailure::Refused(StreamRefusal::NotFound(id.clone()).into());
    let Some(stream) = stored else {
        return Err(if is_pending { ReadFailure::NotYet } else { absent() });
    };
    match stream.status(api.host.env.clock.now()) {
        StreamStatus::Gone => Err(ReadFailure::Refused(StreamRefusal::Gone(id.clone()).into())),
        StreamStatus::Expired => Err(absent()),
        StreamStatus::Closed => Ok(FoundStream { stream, closed: true }),
        StreamStatus::Open => {
            let closed = id.owner().is_some() && !is_pending;
            Ok(FoundStream { stream, closed })
        }
    }
}

/// Extends the lifetime of a stream that expires when nobody uses it.
pub(super) async fn extend_lifetime(api: &Api, stream: &DurableStream) -> Result<(), ApiError> {
    if stream.is_extended_by_read(api.host.env.clock.now()) {
        let touched = api.execute(Command::StreamTouch { id: stream.id.clone() }).await?;
        if let Reply::Refused(refusal) = touched {
            tracing::debug!(%refusal, "a stream ended while it was read");
        }
    }
    Ok(())
}

fn etag(stream: &DurableStream, from: u64, end: u64, closed: bool) -> String {
    let closed = if closed { ":c" } else { "" };
    format!("\"{}:{}:{}{closed}\"", stream.created_at.0, offset(from), offset(end))
}

impl ReadFailure {
    /// The answer for the failure.
    pub(super) fn answer(self) -> Result<Response, ApiError> {
        match self {
            Self::Refused(refusal) => Ok(refused(&refusal)),
            Self::NotYet => Err(ApiError::refused(
                crate::problem_kind::UNKNOWN_STREAM,
                "the execution has not written this stream yet; a live read waits for it",
            )),
            Self::Failed(error) => Err(error),
        }
    }
}
