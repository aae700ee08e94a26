//! Reads as server-sent events: `data` with items, then `control` with the position after them.

use std::convert::Infallible;

use axum::{
    Extension,
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use segno_core::{
    id::StreamId,
    stream::DurableStream,
    time::{Millis, Timestamp},
};
use serde::Serialize;

use super::{
    encoding::StreamPart,
    found::{FoundStream, ReadFailure, data, extend_lifetime, find, next_cursor},
    live::LiveReader,
    offset::{ReadStart, offset},
};
use crate::{Api, ApiError, EndsWithClient};

/// Lifetime of a connection. Readers connect again where they were, possibly to another host.
const CONNECTION: Millis = Millis(60_000);
/// Time without data after which a comment is sent, so that dead connections are detected.
const PING_AFTER: Millis = Millis(15_000);

const ENCODING: HeaderName = HeaderName::from_static("stream-sse-data-encoding");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Control {
    stream_next_offset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_cursor: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    up_to_date: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream_closed: bool,
}

/// How the data of a stream is written into events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventEncoding {
    Json,
    Text,
    Base64,
}

struct EventReader {
    api: Api,
    live: LiveReader,
    encoding: EventEncoding,
    cursor: Option<String>,
    position: u64,
    until: Timestamp,
    /// True until the first control event.
    is_first: bool,
    is_done: bool,
}

/// Answers with events until the stream is closed, or a minute has passed.
pub(super) async fn events(
    api: &Api,
    id: StreamId,
    start: ReadStart,
    cursor: Option<String>,
) -> Result<Response, ApiError> {
    let mut live = LiveReader::new(api, &id);
    let until = api.host.env.clock.now() + CONNECTION;
    let found = match find(api, &id).await {
        Ok(found) => found,
        // The content type is not known before the first item.
        Err(ReadFailure::NotYet(_)) => match live.next(0, until).await {
            Ok(found) => found,
            Err(failure) => return failure.answer(),
        },
        Err(failure) => return failure.answer(),
    };
    extend_lifetime(api, &found.stream).await?;
    let position = match start {
        ReadStart::At(from) => from,
        ReadStart::Now => found.stream.tail,
    };
    let encoding = EventEncoding::of(&found.stream);
    let reader = EventReader {
        api: api.clone(),
        live,
        encoding,
        cursor,
        position,
        until,
        is_first: true,
        is_done: false,
    };
    let frames = futures::stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok::<_, Infallible>(frame), reader))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    let mut answer =
        (headers, Extension(EndsWithClient), Body::from_stream(frames)).into_response();
    if encoding == EventEncoding::Base64 {
        answer.headers_mut().insert(ENCODING, HeaderValue::from_static("base64"));
    }
    Ok(answer)
}

impl EventReader {
    async fn next(&mut self) -> Option<Bytes> {
        let now = self.api.host.env.clock.now();
        if self.is_done || now >= self.until || self.api.stopping.is_cancelled() {
            return None;
        }
        // The first control event comes at once.
        let wait = if self.is_first { Millis::ZERO } else { PING_AFTER };
        // After a failure the connection ends. The reader connects again and gets it as an answer.
        let found = self.live.next(self.position, self.until.min(now + wait)).await.ok()?;
        let mut part = data(&self.api, &found, self.position).await.ok()?;
        if self.encoding == EventEncoding::Text && !(found.closed && part.end >= found.stream.tail)
        {
            part.keep_whole_characters();
        }
        if part.data.is_empty() && !self.is_first && !found.closed {
            return Some(Bytes::from_static(b": ping\n\n"));
        }
        Some(self.frame(&found, part).into())
    }

    fn frame(&mut self, found: &FoundStream, part: StreamPart) -> String {
        let is_last = part.end >= found.stream.tail;
        let closed = found.closed && is_last;
        (self.position, self.is_first, self.is_done) = (part.end, false, closed);
        let cursor = next_cursor(&self.api, self.cursor.as_deref());
        self.cursor = Some(cursor.clone());
        let control = Control {
            stream_next_offset: offset(part.end),
            stream_cursor: (!closed).then_some(cursor),
            up_to_date: is_last,
            stream_closed: closed,
        };
        let control = serde_json::to_string(&control).unwrap_or_default();
        let mut frame = String::new();
        if !part.data.is_empty() {
            frame.push_str("event: data\n");
            self.encoding.write(&mut frame, part, &found.stream);
            frame.push('\n');
        }
        frame.push_str(&format!("event: control\ndata:{control}\n\n"));
        frame
    }
}

impl EventEncoding {
    fn of(stream: &DurableStream) -> Self {
        let is_text =
            stream.content_type.get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case("text/"));
        match stream.is_json() {
            true => Self::Json,
            false if is_text => Self::Text,
            false => Self::Base64,
        }
    }

    /// Writes the data as lines of an event.
    fn write(self, frame: &mut String, part: StreamPart, stream: &DurableStream) {
        let text = match self {
            Self::Base64 => STANDARD.encode(&part.data),
            Self::Json | Self::Text => {
                String::from_utf8_lossy(&part.into_body(stream)).into_owned()
            }
        };
        // Each of the three line breaks ends a line of an event.
        for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
            // A reader removes one space after the colon.
            frame.push_str(if line.starts_with(' ') { "data: " } else { "data:" });
            frame.push_str(line);
            frame.push('\n');
        }
    }
}
