//! Conversion of values and tags between the wire and the engine.
//!
//! On the wire `data` is text that a server does not interpret; released clients put base64 there.
//! The engine stores the decoded bytes, so that functions in modules read what workers wrote.
//! Clients get back exactly what they sent: if the bytes alone are ambiguous (text that is not
//! base64, `""` instead of nothing, `{}` instead of no headers), a header of the stored value
//! records the form.
//!
//! Reserved tags have the prefix `resonate:` on the wire and none in the engine. A client's own tag
//! with the bare name of a reserved one gets the prefix in the engine, so the mapping is
//! unambiguous and lossless.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use segno_core::{
    tags,
    value::{Tags, Value},
};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::protocol_error::ProtocolError;

/// Header of a stored value that records its form on the wire: `h` if headers were given, `e` if
/// the data was empty text, `t` if the data is text that is not base64.
const FORM: &str = "resonate:form";

const PREFIX: &str = "resonate:";

/// A value on the wire.
#[derive(Debug, Default, Deserialize)]
pub struct WireValue {
    #[serde(default)]
    headers: Option<Tags>,
    #[serde(default)]
    data: Option<String>,
}

/// Converts a value to its stored form.
///
/// # Errors
/// 400 if a header has a reserved name.
pub fn stored(value: WireValue) -> Result<Value, ProtocolError> {
    let WireValue { headers, data } = value;
    let mut form = String::new();
    if headers.is_some() {
        form.push('h');
    }
    let mut headers = headers.unwrap_or_default();
    if headers.contains_key(FORM) {
        return Err(ProtocolError::bad(format!("the header `{FORM}` is reserved")));
    }
    let data: Vec<u8> = match data {
        None => Vec::new(),
        Some(text) if text.is_empty() => {
            form.push('e');
            Vec::new()
        }
        Some(text) => match BASE64_STANDARD.decode(&text) {
            // Decodes only text that re-encoding reproduces exactly, because decoders accept more
            // than encoders write.
            Ok(bytes) if BASE64_STANDARD.encode(&bytes) == text => bytes,
            Ok(_) | Err(_) => {
                form.push('t');
                text.into_bytes()
            }
        },
    };
    if !form.is_empty() {
        headers.insert(FORM.to_owned(), form);
    }
    Ok(Value { headers, data: data.into() })
}

/// Converts a stored value to its wire form.
pub fn sent(value: &Value) -> Json {
    let form = value.headers.get(FORM).map_or("", String::as_str);
    let mut object = Map::new();
    let headers: Map<String, Json> = (value.headers.iter())
        .filter(|(name, _)| *name != FORM)
        .map(|(name, value)| (name.clone(), Json::from(value.as_str())))
        .collect();
    if !headers.is_empty() || form.contains('h') {
        object.insert("headers".to_owned(), Json::Object(headers));
    }
    if form.contains('t') {
        let text = String::from_utf8_lossy(&value.data).into_owned();
        object.insert("data".to_owned(), Json::String(text));
    } else if !value.data.is_empty() || form.contains('e') {
        object.insert("data".to_owned(), Json::String(BASE64_STANDARD.encode(&*value.data)));
    }
    Json::Object(object)
}

/// Converts tags to their stored form.
pub fn stored_tags(tags: Tags) -> Tags {
    tags.into_iter().map(|(name, value)| (exchanged(&name), value)).collect()
}

/// Converts stored tags to their wire form.
pub fn sent_tags(tags: &Tags) -> Json {
    Json::Object(
        tags.iter().map(|(name, value)| (exchanged(name), Json::from(value.as_str()))).collect(),
    )
}

/// Returns the name of a tag on the other side. The mapping is the same in both directions.
fn exchanged(name: &str) -> String {
    match name.strip_prefix(PREFIX) {
        Some(bare) if tags::RESERVED.contains(&bare) => bare.to_owned(),
        None if tags::RESERVED.contains(&name) => format!("{PREFIX}{name}"),
        Some(_) | None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_sent_comes_back_letter_by_letter() {
        for (wire, bytes) in [
            (json!({}), &b""[..]),
            (json!({ "headers": {} }), b""),
            (json!({ "data": "" }), b""),
            (json!({ "headers": {}, "data": "" }), b""),
            (json!({ "data": "NA==" }), b"4"),
            (json!({ "headers": { "a": "b" }, "data": "eyJhIjoxfQ==" }), b"{\"a\":1}"),
            (json!({ "data": "NA" }), b"NA"),
            (json!({ "data": "plain text é" }), "plain text é".as_bytes()),
            (json!({ "data": "NB==" }), b"NB=="),
        ] {
            let value: WireValue = serde_json::from_value(wire.clone()).expect("a value");
            let value = stored(value).expect("no reserved header");
            assert_eq!(value.data.as_slice(), bytes, "{wire}");
            assert_eq!(sent(&value), wire);
        }
        assert_eq!(sent(&Value::of(&b"7"[..])), json!({ "data": "Nw==" }), "a module's");
        let forged =
            WireValue { headers: Some(Tags::from([(FORM.into(), "t".into())])), data: None };
        assert_eq!(stored(forged).expect_err("reserved").status, 400);
    }

    #[test]
    fn reserved_tags_change_their_names_and_no_other_tag_is_mistaken_for_one() {
        let wire = Tags::from([
            ("resonate:target".to_owned(), "poll://any@g".to_owned()),
            ("target".to_owned(), "mine".to_owned()),
            ("resonate:scope".to_owned(), "global".to_owned()),
            ("colour".to_owned(), "red".to_owned()),
        ]);
        let kept = stored_tags(wire.clone());
        assert_eq!(tags::target(&kept), Some("poll://any@g"));
        assert_eq!(kept.get("resonate:target").map(String::as_str), Some("mine"));
        assert_eq!(sent_tags(&kept), json!(wire));
    }
}
