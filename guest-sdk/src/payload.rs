//! Payloads in host calls: JSON text, converted from and to serde types.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    finite::to_json,
};

pub use wit::Payload;

/// Encodes `value` as JSON; `what` names it in the error.
pub(crate) fn encode<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<Payload> {
    match to_json(value) {
        Ok(json) => Ok(Payload::Json(json)),
        Err(error) => {
            Err(Error::terminal(422, format!("{what} cannot be written as JSON: {error}")))
        }
    }
}

/// Decodes `payload` into a `T`; `what` names the value in the error, which also names the place of
/// the mismatch.
pub(crate) fn decode<T: DeserializeOwned>(what: &str, payload: &Payload) -> Result<T> {
    let refused = |problem: String| Error::terminal(400, format!("{what} does not fit: {problem}"));
    let bytes = match payload {
        Payload::Json(json) => json.as_bytes(),
        Payload::Bytes(bytes) => bytes,
    };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "at the top".to_owned() } else { format!("at `{path}`") };
        refused(format!("{place}: {}", error.inner()))
    })?;
    reader.end().map_err(|error| refused(format!("after the value: {error}")))?;
    Ok(value)
}

/// Returns true if the payload means "no input": it is empty, or JSON `null`.
pub(crate) fn is_empty(payload: &Payload) -> bool {
    let bytes = match payload {
        Payload::Json(json) => json.as_bytes(),
        Payload::Bytes(bytes) => bytes,
    };
    let text = bytes.trim_ascii();
    text.is_empty() || text == b"null"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_the_crossing() {
        let payload = encode("the list", &vec![1, 2, 3]).unwrap();
        assert_eq!(payload, Payload::Json("[1,2,3]".into()));
        assert_eq!(decode::<Vec<u32>>("the list", &payload).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        #[derive(Debug, serde::Deserialize)]
        struct Order {
            #[expect(dead_code, reason = "only read into")]
            items: Vec<u32>,
        }
        let error =
            decode::<Order>("the input of `order`", &Payload::Json(r#"{"items":[1,"x"]}"#.into()))
                .unwrap_err();
        assert_eq!(error.code(), 400);
        assert!(
            error.message().starts_with("the input of `order` does not fit: at `items[1]`"),
            "{error}"
        );
    }

    #[test]
    fn text_after_the_value_is_refused() {
        let error = decode::<u32>("the input", &Payload::Json("1 2".into())).unwrap_err();
        assert!(error.message().contains("after the value"), "{error}");
    }
}
