//! The built-in function `segno:stream`: reads a stream of any execution or object, for a workflow.
//!
//! Its input is `{"invocation", "stream", "position"}`. It answers when there is data after the
//! position, or nothing more will come: `{"next", "closed"}` and `items` of a stream of messages,
//! `text` of a stream of text, or `base64` of any other. The answer is recorded as that of any call.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use segno_core::{
    id::{ObjectId, PromiseId, StreamId},
    promise::Promise,
    stream::{DurableStream, StreamChunk, StreamStatus},
    time::Millis,
};
use segno_guest::{Failure, Outcome, Payload};
use serde::Deserialize;
use serde_json::json;

use crate::{
    claim::{ClaimSession, Claimed, ExecutionError, Target},
    metrics::ClaimEnd,
    slots::SlotKind,
    values::{self, code},
};

/// Bytes of data in one answer, unless one append is larger.
const READ_BYTES: usize = 256 << 10;
/// Time after which the claim is given back if nothing came, so that others get the slot.
const WAIT_MAX: Millis = Millis(20_000);
/// Interval of reads without a notice, which may be lost between hosts.
const LOOK_AGAIN: Millis = Millis(500);

/// Reads streams.
pub(super) struct StreamTarget;

/// The input of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    invocation: String,
    stream: String,
    #[serde(default)]
    position: u64,
}

/// A part of a stream.
struct ReadPart {
    stream: DurableStream,
    chunks: Vec<StreamChunk>,
    /// True if nothing can be appended.
    closed: bool,
}

#[async_trait]
impl Target for StreamTarget {
    fn slot(&self) -> (SlotKind, usize) {
        (SlotKind::Request, 1)
    }

    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        let (session, promise) = (claimed.session, claimed.acquired.promise);
        let read = tokio::select! {
            biased;
            () = session.active.abort.cancelled() => return ClaimEnd::Lost,
            () = session.drained() => Err(ExecutionError::NoRoom),
            read = read(&session, &promise) => read,
        };
        let fulfilled = match read {
            Ok(answer) => session.fulfil_call(&promise, Vec::new(), values::verdict(&answer)).await,
            Err(error) => Err(error),
        };
        match fulfilled {
            Ok(()) => ClaimEnd::Finished,
            Err(stopped) => session.give_back(stopped).await,
        }
    }
}

/// Waits for data, and reads it.
async fn read(session: &ClaimSession, promise: &Promise) -> Result<Outcome, ExecutionError> {
    let query = match query(promise) {
        Ok(query) => query,
        Err(refused) => return Ok(Outcome::Failure(refused)),
    };
    let owner = owner(session, &query.invocation).await?;
    let id = StreamId::of_execution(&owner, &query.stream);
    let host = session.host();
    let mut watch = host.notifier.streams.watch(&id);
    let until = session.now() + WAIT_MAX;
    loop {
        watch.mark_read();
        match part(session, &owner, &id, query.position).await? {
            Err(refused) => return Ok(Outcome::Failure(refused)),
            Ok(Some(part)) if part.closed || part.next(query.position) > query.position => {
                return Ok(part.answer(query.position));
            }
            Ok(_) => {}
        }
        if session.active.cancel_requested() {
            return Ok(values::cancelled());
        }
        if session.now() >= until {
            return Err(ExecutionError::NoRoom);
        }
        session.active.advance(1);
        tokio::select! {
            () = watch.changed() => {}
            () = host.env.runtime.sleep(LOOK_AGAIN) => {}
        }
    }
}

/// The promise that the streams belong to: that of the first generation of an execution, or that of
/// an object.
async fn owner(session: &ClaimSession, invocation: &str) -> Result<PromiseId, ExecutionError> {
    let id = PromiseId::from(invocation);
    if let Some(object) = ObjectId::parse(invocation)
        && session.host().store.read().promise(&id).await?.is_none()
    {
        return Ok(object.streams());
    }
    Ok(id.generation_of().map_or(id, |(first, _)| first))
}

fn query(promise: &Promise) -> Result<StreamQuery, Failure> {
    let Payload::Json(text) = values::input(&promise.spec.param) else {
        return Err(failure(code::BAD_REQUEST, "the input of `segno:stream` is JSON".to_owned()));
    };
    let query: StreamQuery = serde_json::from_str(&text).map_err(|error| {
        let message = format!(
            r#"`segno:stream` takes {{"invocation": ID, "stream": NAME, "position": NUMBER}}: {error}"#
        );
        failure(code::BAD_REQUEST, message)
    })?;
    let id = PromiseId::from(query.invocation.as_str());
    match promise.beyond_rights(&id) {
        None => Ok(query),
        Some(prefix) => {
            let message = format!(
                "the streams of `{id}` cannot be read: this execution was started with rights over ids that begin with `{prefix}`"
            );
            Err(failure(code::REFUSED, message))
        }
    }
}

/// The data after a position. `None` if the stream was not written yet.
async fn part(
    session: &ClaimSession,
    owner: &PromiseId,
    id: &StreamId,
    position: u64,
) -> Result<Result<Option<ReadPart>, Failure>, ExecutionError> {
    let read = session.host().store.read();
    let stored = read.stream(id).await?;
    let Some(row) = read.promise(owner).await? else {
        if ObjectId::of_streams(owner).is_some() {
            return Ok(Ok(None));
        }
        return Ok(Err(failure(code::NOT_FOUND, format!("there is no invocation `{owner}`"))));
    };
    let ended = !row.promise.is_pending();
    let absent = || failure(code::NOT_FOUND, format!("`{owner}` has no stream `{}`", id.name()));
    let Some(stream) = stored else {
        return Ok(if ended { Err(absent()) } else { Ok(None) });
    };
    let is_open = match stream.status(session.now()) {
        StreamStatus::Gone | StreamStatus::Expired => return Ok(Err(absent())),
        StreamStatus::Closed => false,
        StreamStatus::Open => !ended,
    };
    let chunks = match position < stream.tail {
        true => read.stream_data(id, position, READ_BYTES).await?,
        false => Vec::new(),
    };
    let end = chunks.last().map_or(position, StreamChunk::end);
    let closed = !is_open && end >= stream.tail;
    Ok(Ok(Some(ReadPart { stream, chunks, closed })))
}

impl ReadPart {
    /// The position after what can be answered: a character of a text that is not whole yet comes
    /// with the next part.
    fn next(&self, position: u64) -> u64 {
        let end = self.chunks.last().map_or(position, StreamChunk::end);
        end - (self.data().len() - self.whole().len()) as u64
    }

    fn data(&self) -> Vec<u8> {
        self.chunks.iter().map(|chunk| &chunk.data[..]).collect::<Vec<_>>().concat()
    }

    /// The data, in a text without the beginning of a character at its end.
    fn whole(&self) -> Vec<u8> {
        let mut data = self.data();
        if self.is_text()
            && !self.closed
            && let Err(error) = std::str::from_utf8(&data)
            && error.error_len().is_none()
        {
            data.truncate(error.valid_up_to());
        }
        data
    }

    fn is_text(&self) -> bool {
        self.stream.content_type.starts_with("text/")
    }

    fn answer(&self, position: u64) -> Outcome {
        let (next, data, closed) = (self.next(position), self.whole(), self.closed);
        let answer = if self.stream.is_json() {
            // Each line is a message, so the lines with commas between are a list.
            let text = String::from_utf8_lossy(&data);
            let items: Vec<&str> = text.lines().collect();
            format!(r#"{{"items":[{}],"next":{next},"closed":{closed}}}"#, items.join(","))
        } else if self.is_text() {
            let text = String::from_utf8_lossy(&data);
            json!({ "text": text, "next": next, "closed": closed }).to_string()
        } else {
            json!({ "base64": STANDARD.encode(&data), "next": next, "closed": closed }).to_string()
        };
        Outcome::Success(Payload::Json(answer))
    }
}

fn failure(code: u32, message: String) -> Failure {
    Failure { code, message, details: None }
}

#[cfg(test)]
mod tests {
    use segno_core::{
        stream::{StreamItems, StreamLifetime},
        time::Timestamp,
        value::Text,
    };

    use super::*;

    fn part(content_type: &str, data: &[u8], closed: bool) -> ReadPart {
        let stream = DurableStream {
            id: "a/stream/b".into(),
            content_type: Text::from(content_type),
            tail: data.len() as u64,
            bytes: data.len() as u64,
            created_at: Timestamp(0),
            used_at: Timestamp(0),
            closed: None,
            lifetime: StreamLifetime::Unlimited,
            label: None,
            producers: Default::default(),
            origin: None,
            forks: 0,
            deleted: false,
            busy_until_us: None,
        };
        let items = StreamItems::bytes(data);
        let chunk = StreamChunk {
            stream: stream.id.clone(),
            position: 3,
            count: items.count,
            records: 0,
            writer: None,
            data: items.data,
        };
        ReadPart { stream, chunks: vec![chunk], closed }
    }

    #[test]
    fn a_character_comes_when_it_is_whole() {
        let answer = |part: ReadPart| match part.answer(3) {
            Outcome::Success(Payload::Json(text)) => {
                serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
            }
            other => panic!("{other:?}"),
        };
        let whole = "a\u{20ac}".as_bytes();
        assert_eq!(part("text/plain", &whole[1..2], false).next(3), 3, "it waits");
        let cut = part("text/plain", &whole[..3], false);
        assert_eq!(answer(cut), json!({ "text": "a", "next": 4, "closed": false }));
        let all = part("text/plain", whole, false);
        assert_eq!(answer(all), json!({ "text": "a\u{20ac}", "next": 7, "closed": false }));
        // At the end of the stream nothing follows.
        assert_eq!(part("text/plain", &whole[..3], true).next(3), 6);
        assert_eq!(part("audio/ogg", &whole[1..2], false).next(3), 4);
    }
}
