//! The streams of an execution or of an object.

use axum::{Json, extract::State};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use segno_core::{
    id::{ObjectId, StreamId},
    stream::DurableStream,
};

use super::{headers::PREFIX, offset::offset};
use crate::{
    Api, ApiError,
    body::PathSegment,
    model::{StreamList, StreamView},
    refusals::Refusals,
};

/// Characters that are written `%XX` in an address.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Lists the streams of an invocation, or of an object (`MODULE/OBJECT@KEY`), by name. Each has an
/// address of its own, under which it is read and written by the Durable Streams protocol.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/streams", tag = "invocations",
    operation_id = "streams",
    params(("id" = String, Path, description = "The invocation, or the object; a slash is written %2F")),
    responses((status = 200, body = StreamList), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<StreamList>, ApiError> {
    let id = api.stored_id(id).await?;
    // The streams of all generations are those of the first.
    let owner = id.generation_of().map_or(id, |(first, _)| first);
    let row = api.invocation(&owner).await;
    let (owner, ended) = match (row, ObjectId::parse(owner.as_str())) {
        // An object has no row of its own: one that was never written has no streams.
        (Err(ApiError::UnknownInvocation(_)), Some(object)) => (object.streams(), false),
        (row, _) => (owner, !row?.promise.is_pending()),
    };
    let streams = api.look().await?.read().streams_of(&owner).await?;
    let shown = streams.iter().map(|stream| shown(stream, ended));
    Ok(Json(StreamList { streams: shown.collect() }))
}

fn shown(stream: &DurableStream, ended: bool) -> StreamView {
    StreamView {
        name: stream.id.name().to_owned(),
        path: address(&stream.id),
        content_type: stream.content_type.to_string(),
        next_offset: offset(stream.tail),
        length: stream.tail,
        bytes: stream.bytes,
        closed: ended || stream.closed.is_some(),
        created_at_ms: stream.created_at.0,
        used_at_ms: stream.used_at.0,
    }
}

/// The path of a stream's address.
pub(super) fn address(id: &StreamId) -> String {
    format!("{PREFIX}{}", utf8_percent_encode(id.as_str(), ESCAPED))
}
