//! Creation, appends and removal.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use segno_core::{
    command::Command,
    id::StreamId,
    reply::Reply,
    stream::{DEFAULT_CONTENT_TYPE, ItemsError, NewStream, StreamAppend, StreamItems, is_json},
    value::Text,
};

use super::{
    super::{Api, ApiError, body::PathSegment, state::unexpected},
    answer::{refused, replied, set, set_end},
    headers::{PRODUCER_EPOCH, PRODUCER_SEQ},
    request,
};

/// Name of the setting that limits a body.
const SETTING: &str = "the limit of one append to a stream";

/// `PUT`: creates a stream, or a fork of one.
pub(super) async fn create(
    State(api): State<Api>,
    PathSegment(path): PathSegment,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let (bytes, _room) = api.admitted(&parts, body, body_limit(&api), SETTING).await?;
    let content_type = request::content_type(&parts.headers)?;
    let fork = request::fork_point(&parts.headers)?;
    let content = match (&content_type, &fork) {
        (None, Some(fork)) if !bytes.is_empty() => content_type_of(&api, &fork.source).await?,
        (given, _) => given.clone(),
    };
    let new = NewStream {
        id: StreamId::new(path),
        content_type,
        lifetime: request::lifetime(&parts.headers)?,
        closed: request::closes(&parts.headers),
        items: first_items(content.as_deref().unwrap_or(DEFAULT_CONTENT_TYPE), &bytes)?,
        fork,
    };
    let created = match replied(api.execute(Command::StreamCreate(Box::new(new))).await?) {
        Ok(created) => created,
        Err(answer) => return Ok(*answer),
    };
    let status = if created.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut answer = status.into_response();
    let headers = answer.headers_mut();
    set_end(headers, created.stream.tail, created.closed);
    set(headers, header::CONTENT_TYPE, &created.stream.content_type);
    if created.created {
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let path = parts.uri.path();
        let location = host.map_or_else(|| path.to_owned(), |host| format!("http://{host}{path}"));
        set(headers, header::LOCATION, &location);
    }
    Ok(answer)
}

/// `POST`: appends, or closes.
pub(super) async fn append(
    State(api): State<Api>,
    PathSegment(path): PathSegment,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let (bytes, _room) = api.admitted(&parts, body, body_limit(&api), SETTING).await?;
    let headers = &parts.headers;
    let closes = request::closes(headers);
    let content_type = request::content_type(headers)?.filter(|_| !bytes.is_empty());
    let items = match &content_type {
        None if bytes.is_empty() && closes => StreamItems::default(),
        None if bytes.is_empty() => {
            let reason = "it is empty: send data, or `stream-closed: true`".to_owned();
            return Err(ApiError::BadBody { reason });
        }
        None => {
            let (header, reason) = ("content-type".to_owned(), "is missing".to_owned());
            return Err(ApiError::BadHeader { header, reason });
        }
        Some(given) => StreamItems::of_body(given, &bytes).map_err(bad_items)?,
    };
    let (producer, has_items) = (request::producer(headers)?, !items.is_empty());
    let new = StreamAppend {
        id: StreamId::new(path),
        content_type,
        items,
        producer: producer.clone(),
        label: request::sequence_label(headers)?,
        closes,
        claim: None,
    };
    let appended = match replied(api.execute(Command::StreamAppend(Box::new(new))).await?) {
        Ok(appended) => appended,
        Err(answer) => return Ok(*answer),
    };
    let is_new = producer.is_some() && has_items && !appended.duplicate;
    let mut answer = if is_new { StatusCode::OK } else { StatusCode::NO_CONTENT }.into_response();
    let headers = answer.headers_mut();
    set_end(headers, appended.stream.tail, appended.closed);
    if let Some(state) =
        producer.and_then(|producer| appended.stream.producers.get(&producer.id).copied())
    {
        set(headers, PRODUCER_EPOCH, &state.epoch.to_string());
        set(headers, PRODUCER_SEQ, &state.seq.to_string());
    }
    Ok(answer)
}

/// `DELETE`: removes a stream.
pub(super) async fn delete(
    State(api): State<Api>,
    PathSegment(path): PathSegment,
) -> Result<Response, ApiError> {
    match api.execute(Command::StreamDelete { id: StreamId::new(path) }).await? {
        Reply::Done => {
            let mut answer = StatusCode::NO_CONTENT.into_response();
            let never = HeaderValue::from_static("no-store");
            answer.headers_mut().insert(header::CACHE_CONTROL, never);
            Ok(answer)
        }
        Reply::Refused(refusal) => Ok(refused(&refusal)),
        other => Err(unexpected(&other)),
    }
}

fn body_limit(api: &Api) -> usize {
    usize::try_from(api.host.config.stream.append_bytes).unwrap_or(usize::MAX)
}

/// The first data of a stream. An empty list is no data.
fn first_items(content_type: &str, body: &[u8]) -> Result<StreamItems, ApiError> {
    if body.is_empty() {
        return Ok(StreamItems::default());
    }
    match StreamItems::of_body(content_type, body) {
        Err(ItemsError::Empty) if is_json(content_type) => Ok(StreamItems::default()),
        read => read.map_err(bad_items),
    }
}

/// The content type of the source of a fork. `None` if there is no such stream.
async fn content_type_of(api: &Api, source: &StreamId) -> Result<Option<Text>, ApiError> {
    let store = api.look().await?;
    Ok(store.read().stream(source).await?.map(|stream| stream.content_type))
}

fn bad_items(error: ItemsError) -> ApiError {
    ApiError::BadBody { reason: error.to_string() }
}
