//! Published events in the CloudEvents 1.0 format (JSON).
//!
//! ```text
//! { "specversion": "1.0", "id": "order-1/3", "source": "/v1/invocations/order-1", "type": "order.paid",
//!   "subject": "order-1", "time": "2026-01-02T03:04:05.678Z", "datacontenttype": "application/json", "data": … }
//! ```

use std::{fmt, str::FromStr};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::{
    id::{CommandIndex, PromiseId},
    promise::OutboxKey,
    time::Timestamp,
    value::Value,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The identity of an event: the invocation and the command that published it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId {
    /// The id of the invocation.
    pub source: PromiseId,
    /// The index of the command.
    pub index: CommandIndex,
}

/// A CloudEvent, in structured mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CloudEvent {
    /// The version of the format.
    #[schema(example = "1.0")]
    pub specversion: String,
    /// The event's unique id, the same in every delivery.
    #[schema(example = "order-1001/3")]
    pub id: String,
    /// The invocation, as a path of this host's API.
    #[schema(example = "/v1/invocations/order-1001")]
    pub source: String,
    /// The topic under which the event was published.
    #[serde(rename = "type")]
    #[schema(example = "order.paid")]
    pub topic: String,
    /// The invocation's id.
    #[schema(example = "order-1001")]
    pub subject: String,
    /// The time of publication, as an RFC 3339 text.
    #[schema(example = "2026-01-02T03:04:05.678Z")]
    pub time: String,
    /// The media type of `data`.
    #[schema(example = "application/json")]
    pub datacontenttype: String,
    /// The payload, if the payload is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
    /// The payload in base64, if the payload is bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_base64: Option<String>,
}

impl CloudEvent {
    /// Creates the event that `id` published under `topic`.
    pub fn new(id: &EventId, topic: &str, payload: &Value, at: Timestamp) -> Self {
        let bytes: &[u8] = &payload.data;
        let said = payload.headers.get("content-type").cloned();
        let json = match (&said, bytes) {
            (Some(_), _) => None,
            (None, []) => Some(serde_json::Value::Null),
            (None, bytes) => serde_json::from_slice(bytes).ok(),
        };
        let kind = if json.is_some() { "application/json" } else { "application/octet-stream" };
        let base64 = json.is_none().then(|| BASE64_STANDARD.encode(bytes));
        Self {
            specversion: "1.0".to_owned(),
            id: id.to_string(),
            source: format!("/v1/invocations/{}", path_segment(id.source.as_str())),
            topic: topic.to_owned(),
            subject: id.source.to_string(),
            time: at.in_utc_millis(),
            datacontenttype: said.unwrap_or_else(|| kind.to_owned()),
            data: json,
            data_base64: base64,
        }
    }
}

impl EventId {
    /// The key of the event's message in the outbox.
    pub fn key(&self) -> OutboxKey {
        OutboxKey::Event(self.source.clone(), self.index)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.index.0)
    }
}

impl FromStr for EventId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (source, index) = text.rsplit_once('/').ok_or("it has no slash before its number")?;
        let index = index.parse().map_err(|_| "it does not end in a number")?;
        if source.is_empty() {
            return Err("it names no invocation");
        }
        Ok(Self { source: PromiseId::from(source), index: CommandIndex(index) })
    }
}

/// Percent-encodes `text` as one path segment.
fn path_segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                segment.push(char::from(byte));
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use segno_core::value::Tags;
    use serde_json::json;

    use super::*;

    fn event(payload: Value) -> CloudEvent {
        let id = EventId { source: PromiseId::from("users/42 ü"), index: CommandIndex(7) };
        CloudEvent::new(&id, "order.paid", &payload, Timestamp(1_767_323_045_678))
    }

    #[test]
    fn an_event_is_a_cloud_event() {
        let shown = event(Value::of(&b"{\"sum\":9}"[..]));
        assert_eq!(
            serde_json::to_value(&shown).expect("it is JSON"),
            json!({
                "specversion": "1.0",
                "id": "users/42 ü/7",
                "source": "/v1/invocations/users%2F42%20%C3%BC",
                "type": "order.paid",
                "subject": "users/42 ü",
                "time": "2026-01-02T03:04:05.678Z",
                "datacontenttype": "application/json",
                "data": { "sum": 9 },
            })
        );
    }

    #[test]
    fn bytes_travel_in_base64_and_nothing_as_null() {
        let headers = Tags::from([("content-type".to_owned(), "image/png".to_owned())]);
        let shown = event(Value { headers, data: (&b"\xff\x00"[..]).into() });
        assert_eq!((shown.datacontenttype.as_str(), shown.data), ("image/png", None));
        assert_eq!(shown.data_base64.as_deref(), Some("/wA="));
        let text = event(Value::of(&b"not json"[..]));
        assert_eq!(text.data_base64.as_deref(), Some("bm90IGpzb24="));
        assert_eq!(event(Value::default()).data, Some(json!(null)));
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        for (source, index) in [("a", 0), ("users/42", 17), ("a/3", u32::MAX)] {
            let id = EventId { source: PromiseId::from(source), index: CommandIndex(index) };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for bad in ["", "a", "/1", "a/", "a/b", "a/-1", "a/4294967296"] {
            assert!(bad.parse::<EventId>().is_err(), "{bad}");
        }
    }
}
