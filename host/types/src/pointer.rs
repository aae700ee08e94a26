//! References within a schema document, and names of schemas.

use serde_json::Value;

use crate::names::pascal;

/// The schema to which a reference within the document points.
pub(crate) fn pointed<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&decoded(reference.strip_prefix('#')?))
}

/// The text without the escapes of URLs.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let escape = text.len() - rest.len();
        let hex = (*first == b'%').then(|| text.get(escape + 1..escape + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The title of a schema as the name of a type, or an empty text.
pub(crate) fn title(schema: &Value) -> String {
    pascal(schema.get("title").and_then(Value::as_str).unwrap_or_default())
}
