//! A stream as readers find it, and its data.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use segno_core::{
    command::Command,
    id::StreamId,
    reply::{Refusal, Reply, StreamRefusal},
    stream::{DurableStream, StreamStatus},
};

use super::{
    answer::{refused, set, set_end},
    cursor::cursor,
    encoding::StreamPart,
    headers::{CURSOR, UP_TO_DATE},
};
use crate::{Api, ApiError};

/// Bytes of data in one answer, unless one append is larger.
const READ_BYTES: usize = 1 << 20;

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
    /// The execution or the object has not written the stream yet.
    NotYet(StreamId),
    Failed(ApiError),
}

impl From<ApiError> for ReadFailure {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
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
    let is_pending = match id.owner() {
        None => false,
        Some(owner) => match store.read().promise(&owner).await.map_err(ApiError::from)? {
            Some(row) => row.promise.is_pending(),
            None if id.is_of_object() => true,
            None => return Err(ApiError::UnknownInvocation(owner.to_string()).into()),
        },
    };
    let absent = || ReadFailure::Refused(StreamRefusal::NotFound(id.clone()).into());
    let Some(stream) = stored else {
        return Err(if is_pending { ReadFailure::NotYet(id.clone()) } else { absent() });
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

/// Extends the lifetime of a stream with a limit of idle time.
pub(super) async fn extend_lifetime(api: &Api, stream: &DurableStream) -> Result<(), ApiError> {
    if stream.is_extended_by_read(api.host.env.clock.now()) {
        let touched = api.execute(Command::StreamTouch { id: stream.id.clone() }).await?;
        if let Reply::Refused(refusal) = touched {
            tracing::debug!(%refusal, "a stream ended while it was read");
        }
    }
    Ok(())
}

impl ReadFailure {
    /// The answer for the failure.
    pub(super) fn answer(self) -> Result<Response, ApiError> {
        match self {
            Self::Refused(refusal) => Ok(refused(&refusal)),
            Self::NotYet(id) => Err(ApiError::refused(
                crate::problem_kind::UNKNOWN_STREAM,
                format!(
                    "the stream `{}` has not been written yet: a live read waits for it, as \
                     `segno stream --follow` does",
                    id.name()
                ),
            )),
            Self::Failed(error) => Err(error),
        }
    }
}
