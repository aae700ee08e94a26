//! The content of an append.

use serde_json::value::RawValue;

use super::JSON_CONTENT_TYPE;
use crate::{
    json::{self, JsonError},
    value::{Bytes, Payload},
};

/// Data for the end of a stream. JSON messages are one per line, each with its line break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamItems {
    /// Number of positions that the data takes: messages or bytes.
    pub count: u64,
    pub data: Bytes,
}

/// Error: data that cannot be appended to a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemsError {
    /// A message is not valid JSON.
    #[error("the data is not JSON: {0}")]
    NotJson(String),
    /// The data is a list without elements.
    #[error("the data is an empty list `[]`: send at least one message")]
    Empty,
}

/// True if the content type is that of streams of messages.
pub fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case(JSON_CONTENT_TYPE)
}

impl StreamItems {
    /// Bytes for a stream that is not JSON.
    pub fn bytes(data: impl Into<Bytes>) -> Self {
        let data = data.into();
        Self { count: data.len() as u64, data }
    }

    /// One message.
    ///
    /// # Errors
    /// [`ItemsError::NotJson`].
    pub fn message(text: &str) -> Result<Self, ItemsError> {
        json::check(text).map_err(not_json)?;
        let mut data = Vec::with_capacity(text.len() + 1);
        push_line(&mut data, text);
        Ok(Self { count: 1, data: data.into() })
    }

    /// The content of a request body: a message, or a list whose elements are messages.
    ///
    /// # Errors
    /// [`ItemsError`].
    pub fn messages(body: &[u8]) -> Result<Self, ItemsError> {
        json::check_within(body, json::REQUEST_DEPTH_MAX).map_err(not_json)?;
        let text = std::str::from_utf8(body).unwrap_or_default().trim();
        if !text.starts_with('[') {
            return Self::message(text);
        }
        let messages: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| ItemsError::NotJson(error.to_string()))?;
        if messages.is_empty() {
            return Err(ItemsError::Empty);
        }
        let mut data = Vec::with_capacity(text.len());
        messages.iter().for_each(|message| push_line(&mut data, message.get()));
        Ok(Self { count: messages.len() as u64, data: data.into() })
    }

    /// The content of a request body for a stream of this content type.
    ///
    /// # Errors
    /// [`ItemsError`].
    pub fn of_body(content_type: &str, body: &[u8]) -> Result<Self, ItemsError> {
        match is_json(content_type) {
            true => Self::messages(body),
            false => Ok(Self::bytes(body)),
        }
    }

    /// One item of a guest for a stream of this content type. JSON text is a message in a stream
    /// of messages. In other streams, a JSON string stands for its text, and other JSON for itself.
    ///
    /// # Errors
    /// [`ItemsError`].
    pub fn of_payload(content_type: &str, item: &Payload) -> Result<Self, ItemsError> {
        match (is_json(content_type), item) {
            (true, Payload::Json(text)) => Self::message(text),
            (true, Payload::Bytes(bytes)) => Self::message(
                std::str::from_utf8(bytes)
                    .map_err(|error| ItemsError::NotJson(format!("it is not UTF-8: {error}")))?,
            ),
            (false, Payload::Json(text)) => Ok(match serde_json::from_str::<String>(text) {
                Ok(string) => Self::bytes(string.into_bytes()),
                Err(_) => Self::bytes(text.as_bytes()),
            }),
            (false, Payload::Bytes(bytes)) => {
                Ok(Self { count: bytes.len() as u64, data: bytes.clone() })
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn not_json(error: JsonError) -> ItemsError {
    ItemsError::NotJson(error.to_string())
}

/// Adds a message as a line. A line break in JSON is white space between tokens, and may be any
/// other white space.
fn push_line(data: &mut Vec<u8>, message: &str) {
    let plain = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    data.extend(message.trim().bytes().map(plain));
    data.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(items: &StreamItems) -> Vec<&str> {
        std::str::from_utf8(&items.data).expect("text").lines().collect()
    }

    #[test]
    fn a_list_is_its_messages() {
        let list =
            StreamItems::messages(b" [ {\"a\":\r\n1}, [2], \"x\\n\", 12345678901234567890123 ]\n");
        let list = list.expect("JSON");
        assert_eq!(lines(&list), ["{\"a\":  1}", "[2]", "\"x\\n\"", "12345678901234567890123"]);
        assert_eq!(list.count, 4);
        let one = StreamItems::messages(b"{\"a\":1}").expect("JSON");
        assert_eq!((lines(&one), one.count), (vec!["{\"a\":1}"], 1));
        assert_eq!(StreamItems::messages(b"[]"), Err(ItemsError::Empty));
        assert!(matches!(StreamItems::messages(b"{"), Err(ItemsError::NotJson(_))));
        assert!(matches!(StreamItems::messages(b"\xff"), Err(ItemsError::NotJson(_))));
    }

    #[test]
    fn text_is_appended_as_text() {
        let item = |text: &str| Payload::Json(text.into());
        let text = |items: Result<StreamItems, ItemsError>| items.expect("an item").data;
        assert_eq!(&*text(StreamItems::of_payload("text/plain", &item("\"a\\n\""))), b"a\n");
        assert_eq!(&*text(StreamItems::of_payload("text/plain", &item("{}"))), b"{}");
        assert_eq!(
            &*text(StreamItems::of_payload("Application/JSON; x=1", &item("\"a\""))),
            b"\"a\"\n"
        );
        let bytes = Payload::Bytes(vec![0, 255].into());
        assert_eq!(StreamItems::of_payload("audio/ogg", &bytes).expect("bytes").count, 2);
        assert!(StreamItems::of_payload(JSON_CONTENT_TYPE, &bytes).is_err());
    }
}
