//! Parsing of clients' JSON: accepts objects only where they are expected; refusals name the field.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A structure that must be an object. Without this wrapper serde would also accept a list, field
/// by field.
#[derive(Debug, Default)]
pub(super) struct StrictObject<T>(pub(super) T);

/// A fault in a JSON text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) struct JsonFault {
    /// Path of the faulty field, for example `action.data`. Empty if the whole text is faulty.
    path: String,
    what: String,
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.what),
            path => write!(f, "`{path}`: {}", self.what),
        }
    }
}

impl JsonFault {
    /// Prefixes the path with `outer`.
    pub(super) fn within(self, outer: &str) -> Self {
        let path = match self.path.as_str() {
            "" => outer.to_owned(),
            path => format!("{outer}.{path}"),
        };
        Self { path, ..self }
    }
}

/// Parses an object.
///
/// # Errors
/// [`JsonFault`].
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonFault> {
    match serde_json::from_slice::<StrictObject<T>>(text) {
        Ok(StrictObject(read)) => Ok(read),
        Err(error) => Err(misread::<T>(text, &error)),
    }
}

/// Parses a second time, slowly, to find the path of the fault.
fn misread<T: DeserializeOwned>(text: &[u8], error: &serde_json::Error) -> JsonFault {
    let mut again = serde_json::Deserializer::from_slice(text);
    let path = match serde_path_to_error::deserialize::<_, StrictObject<T>>(&mut again) {
        Err(located) => located.path().to_string(),
        Ok(_) => String::new(),
    };
    let what = error.to_string();
    // The position is relative to a part of the request, and would mislead.
    let what = match error.is_data() {
        true => what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned(),
        false => what,
    };
    JsonFault { path: if path == "." { String::new() } else { path }, what }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = StrictObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StrictObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(StrictObject)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "list")]
        _list: Vec<StrictObject<Inner>>,
        #[serde(rename = "raw")]
        _raw: Box<RawValue>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "number")]
        _number: u8,
    }

    #[test]
    fn a_refusal_says_where() {
        for (text, says) in [
            ("[[], 1]", "invalid type: sequence, expected an object"),
            ("{}", "missing field `list`"),
            (r#"{"list": 1, "raw": 1}"#, "`list`: invalid type: integer `1`, expected a sequence"),
            (
                r#"{"list": [[7]], "raw": 1}"#,
                "`list[0]`: invalid type: sequence, expected an object",
            ),
            (r#"{"list": [{"number": 7}, {}], "raw": 1}"#, "`list[1]`: missing field `number`"),
            (
                r#"{"list": [{"number": "7"}], "raw": 1}"#,
                "`list[0].number`: invalid type: string \"7\", expected u8",
            ),
            ("{\"list\"", "EOF while parsing an object at line 1 column 7"),
        ] {
            assert_eq!(read::<Outer>(text.as_bytes()).expect_err(text).to_string(), says, "{text}");
        }
        read::<Outer>(br#"{"list": [{"number": 7}], "raw": [null], "more": 1}"#)
            .expect("an object");
        let misread = read::<Inner>(br#"{"number": []}"#).expect_err("a list");
        assert!(misread.within("data").to_string().starts_with("`data.number`: "));
    }
}
