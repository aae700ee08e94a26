//! A readable form of the frames in the journals of services.

use segno_engine::values;
use segno_restate::{
    custom,
    frame::Frame,
    immutable::{self, Command},
    mutable::{self, Entry},
    version::ProtocolVersion,
    wire::Header,
};
use serde_json::{Map, Value as Json, json};

use super::outcome;

/// The field of a request that holds the frame of a command.
pub const FRAME: &str = "frame";
/// The types of entries of V1 to V3, without input and output. The types of commands are below this
/// range.
const ENTRIES: std::ops::Range<u16> = 0x0800..custom::FIRST;

/// The request in a frame, as JSON. A frame that cannot be read is shown by its length in bytes.
pub fn shown_frame(bytes: &[u8]) -> Json {
    let unreadable = || json!({ "bytes": bytes.len() });
    let Some(frame) = Frame::from_bytes(bytes) else { return unreadable() };
    if ENTRIES.contains(&frame.number) {
        return match mutable::Message::decode(&frame, ProtocolVersion::V3) {
            Ok(mutable::Message::Entry(entry)) => entry_json(&entry),
            _ => unreadable(),
        };
    }
    match immutable::Message::decode(&frame, ProtocolVersion::V7) {
        Ok(immutable::Message::Command(command)) => command_json(&command),
        _ => unreadable(),
    }
}

fn entry_json(entry: &Entry) -> Json {
    let kind = entry.kind().map_or("Custom", |kind| kind.name());
    let rest = match entry {
        Entry::GetState(it) => json!({ "key": text(&it.key) }),
        Entry::SetState(it) => json!({ "key": text(&it.key), "value": value(&it.value) }),
        Entry::ClearState(it) => json!({ "key": text(&it.key) }),
        Entry::GetPromise(it) => json!({ "key": it.key }),
        Entry::PeekPromise(it) => json!({ "key": it.key }),
        Entry::CompletePromise(it) => json!({ "key": it.key }),
        Entry::Sleep(it) => json!({ "until_ms": it.wake_up_at_ms }),
        Entry::Call(it) => {
            call(&it.service_name, &it.key, &it.handler_name, &it.parameter, &it.headers)
        }
        Entry::OneWayCall(it) => {
            call(&it.service_name, &it.key, &it.handler_name, &it.parameter, &it.headers)
        }
        Entry::CompleteAwakeable(it) => json!({ "id": it.id }),
        _ => json!({}),
    };
    named(kind, rest)
}

fn command_json(command: &Command) -> Json {
    let kind = command.kind().map_or("Custom", |kind| kind.name());
    let rest = match command {
        Command::GetLazyState(it) => json!({ "key": text(&it.key) }),
        Command::GetEagerState(it) => json!({ "key": text(&it.key) }),
        Command::SetState(it) => {
            let content = it.value.clone().unwrap_or_default().content;
            json!({ "key": text(&it.key), "value": value(&content) })
        }
        Command::ClearState(it) => json!({ "key": text(&it.key) }),
        Command::GetPromise(it) => json!({ "key": it.key }),
        Command::PeekPromise(it) => json!({ "key": it.key }),
        Command::CompletePromise(it) => json!({ "key": it.key }),
        Command::Sleep(it) => json!({ "until_ms": it.wake_up_at_ms }),
        Command::Call(it) => {
            call(&it.service_name, &it.key, &it.handler_name, &it.parameter, &it.headers)
        }
        Command::OneWayCall(it) => {
            call(&it.service_name, &it.key, &it.handler_name, &it.parameter, &it.headers)
        }
        Command::SendSignal(it) => json!({ "invocation": it.target_invocation_id }),
        Command::CompleteAwakeable(it) => json!({ "id": it.awakeable_id }),
        _ => json!({}),
    };
    named(kind, rest)
}

fn named(kind: &str, rest: Json) -> Json {
    let mut shown = Map::from_iter([("type".to_owned(), json!(kind))]);
    if let Json::Object(rest) = rest {
        shown.extend(rest);
    }
    Json::Object(shown)
}

fn call(service: &str, key: &str, handler: &str, parameter: &[u8], headers: &[Header]) -> Json {
    let mut shown = json!({ "service": service, "handler": handler, "input": value(parameter) });
    if !key.is_empty() {
        shown["key"] = key.into();
    }
    if !headers.is_empty() {
        let headers =
            headers.iter().map(|header| (header.key.clone(), header.value.clone().into()));
        shown["headers"] = Json::Object(headers.collect());
    }
    shown
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn value(bytes: &[u8]) -> Json {
    values::payload_json(&outcome::payload(bytes))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use segno_restate::immutable::{SetState, Sleep};

    use super::*;

    #[test]
    fn frames_of_both_families_are_shown_by_what_they_ask_for() {
        let (key, name) = (Bytes::from_static(b"k"), String::new());
        let content = Bytes::from_static(b"[1]");
        let value = Some(segno_restate::wire::ValueMessage { content: content.clone() });
        let set: Command = SetState { key: key.clone(), value, name: name.clone() }.into();
        let set = immutable::Message::Command(set).encode(ProtocolVersion::V6).to_bytes();
        let shown = json!({ "type": "SetState", "key": "k", "value": [1] });
        assert_eq!(shown_frame(&set), shown);
        let entry = mutable::SetState { key, value: content, name, result: None };
        let entry = mutable::Message::Entry(entry.into()).encode(ProtocolVersion::V2).to_bytes();
        assert_eq!(shown_frame(&entry), shown);
        let sleep: Command =
            Sleep { wake_up_at_ms: 7, result_completion_id: 1, name: String::new() }.into();
        let sleep = immutable::Message::Command(sleep).encode(ProtocolVersion::V5).to_bytes();
        assert_eq!(shown_frame(&sleep), json!({ "type": "Sleep", "until_ms": 7 }));
        assert_eq!(shown_frame(b"no frame"), json!({ "bytes": 8 }));
    }
}
