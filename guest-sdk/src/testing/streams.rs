//! The streams of a test.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    bindings::segno::workflow::types as wit, error::Error, payload::Payload, stream::is_json,
};

/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 1_024;

/// The streams of all invocations, by invocation and name.
#[derive(Default)]
pub(super) struct TestStreams(BTreeMap<(String, String), TestStream>);

#[derive(Default)]
struct TestStream {
    content_type: String,
    /// Each item with the id of the call that appended it.
    items: Vec<(String, Payload)>,
    is_closed: bool,
}

/// A read that waits for data.
pub(super) struct StreamRead {
    /// The workflow and the command that read.
    pub(super) reader: (String, u32),
    pub(super) query: StreamReadInput,
}

/// The input of a read.
#[derive(Deserialize)]
pub(super) struct StreamReadInput {
    pub(super) invocation: String,
    pub(super) stream: String,
    #[serde(default)]
    pub(super) position: u64,
}

impl TestStreams {
    /// Appends an item, as the host does.
    pub(super) fn append(
        &mut self,
        invocation: &str,
        (name, content_type): (&str, &str),
        writer: &str,
        item: Payload,
    ) -> Result<(), wit::Failure> {
        check(name, content_type)?;
        let stream = self.at(invocation, name, content_type);
        let refused = if stream.is_closed {
            Some(format!("the stream `{name}` is closed: nothing can be appended"))
        } else if !stream.content_type.eq_ignore_ascii_case(content_type) {
            Some(format!(
                "the stream `{name}` has the content type `{}`, and the item `{content_type}`",
                stream.content_type
            ))
        } else {
            None
        };
        if let Some(message) = refused {
            return Err(Error::terminal(409, message).into_failure());
        }
        stream.items.push((writer.to_owned(), item));
        Ok(())
    }

    /// Closes a stream, as the host does.
    pub(super) fn close(
        &mut self,
        invocation: &str,
        name: &str,
        content_type: &str,
    ) -> Result<(), wit::Failure> {
        check(name, content_type)?;
        self.at(invocation, name, content_type).is_closed = true;
        Ok(())
    }

    /// Number of positions that a call has appended.
    pub(super) fn kept(&self, invocation: &str, name: &str, writer: &str) -> u64 {
        let Some(stream) = self.0.get(&(invocation.to_owned(), name.to_owned())) else { return 0 };
        let is_json = is_json(&stream.content_type);
        let length = |item: &Payload| match item {
            _ if is_json => 1,
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Json(text) => {
                let string = serde_json::from_str::<String>(text);
                string.map_or(text.len(), |string| string.len()) as u64
            }
        };
        let by_it = stream.items.iter().filter(|(by, _)| by == writer);
        by_it.map(|(_, item)| length(item)).sum()
    }

    /// The part of a stream from a position on, as the host answers it, and true if it has data or
    /// is at the end. `None` if there is no stream.
    pub(super) fn part(
        &self,
        invocation: &str,
        name: &str,
        position: u64,
        ended: bool,
    ) -> Option<(Value, bool)> {
        let stream = self.0.get(&(invocation.to_owned(), name.to_owned()))?;
        let closed = stream.is_closed || ended;
        let from = usize::try_from(position).unwrap_or(usize::MAX);
        if is_json(&stream.content_type) {
            let items: Vec<Value> =
                stream.items.iter().skip(from).filter_map(|(_, item)| json_of(item)).collect();
            let (next, is_ready) = (from + items.len(), !items.is_empty() || closed);
            return Some((json!({ "items": items, "next": next, "closed": closed }), is_ready));
        }
        let data: Vec<u8> = stream.items.iter().flat_map(|(_, item)| bytes_of(item)).collect();
        let rest = data.get(from..).unwrap_or_default();
        let is_ready = !rest.is_empty() || closed;
        let part = match stream.content_type.starts_with("text/") {
            true => {
                json!({ "text": String::from_utf8_lossy(rest), "next": data.len(), "closed": closed })
            }
            false => {
                json!({ "base64": BASE64_STANDARD.encode(rest), "next": data.len(), "closed": closed })
            }
        };
        Some((part, is_ready))
    }

    pub(super) fn items(&self, invocation: &str, name: &str) -> Vec<&Payload> {
        let stream = self.0.get(&(invocation.to_owned(), name.to_owned()));
        stream.into_iter().flat_map(|stream| stream.items.iter().map(|(_, item)| item)).collect()
    }

    fn at(&mut self, invocation: &str, name: &str, content_type: &str) -> &mut TestStream {
        let key = (invocation.to_owned(), name.to_owned());
        self.0.entry(key).or_insert_with(|| TestStream {
            content_type: content_type.to_owned(),
            ..TestStream::default()
        })
    }
}

/// A message of a stream.
fn json_of(item: &Payload) -> Option<Value> {
    match item {
        Payload::Json(text) => serde_json::from_str(text).ok(),
        Payload::Bytes(bytes) => serde_json::from_slice(bytes).ok(),
    }
}

/// The bytes that an item stands for in a stream that is not JSON.
fn bytes_of(item: &Payload) -> Vec<u8> {
    match item {
        Payload::Bytes(bytes) => bytes.clone(),
        Payload::Json(text) => match serde_json::from_str::<String>(text) {
            Ok(string) => string.into_bytes(),
            Err(_) => text.as_bytes().to_vec(),
        },
    }
}

/// Refuses the names and content types that a host refuses.
fn check(name: &str, content_type: &str) -> Result<(), wit::Failure> {
    let is_name = matches!(name.len(), 1..=NAME_BYTES_MAX) && !name.contains('/');
    let is_type = content_type
        .split_once('/')
        .is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    let message = match (is_name, is_type) {
        (true, true) => return Ok(()),
        (false, _) => format!(
            "the name of a stream has 1 to {NAME_BYTES_MAX} bytes and no slash, and `{name}` is none"
        ),
        (true, false) => format!(
            "the content type of the stream `{name}` is `{content_type}`: write one such as application/json or text/plain"
        ),
    };
    Err(Error::terminal(400, message).into_failure())
}

/// The invocation whose streams a call writes: the one that made the call.
pub(super) fn owner(call: &str) -> &str {
    let undone = call.rsplit_once("/c/").filter(|(_, step)| step.matches('/').count() == 1);
    let maker = undone.or_else(|| call.rsplit_once('/')).map_or(call, |(maker, _)| maker);
    first_generation(maker)
}

/// The invocation that a generation belongs to.
pub(super) fn first_generation(id: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    id.rsplit_once("/g/").filter(|(_, number)| is_number(number)).map_or(id, |(first, _)| first)
}
