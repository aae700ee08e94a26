//! Comparison of requests under one key, or one id.
//!
//! Two requests are equal if they ask for the same: the function or the name, and the input,
//! compared as JSON. Labels, time limits and the start time are taken from the first request, since
//! clients that repeat a request usually compute them anew.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::{id::Digest, value::Text};

/// The compared parts of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestParts(Vec<(&'static str, Vec<u8>)>);

/// Error: a key, or an id, is already used by a different request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} `{}` was used for another request: another {}; the first one has the digest {}, and this one {}; nothing was done: \
     use another {}",
    .key.escape_debug(), .differs.join(" and another "), short(.first), short(.given), .what.trim_start_matches("the ")
)]
pub struct KeyReuseError {
    /// Kind of the key: `the id`, or `the key`.
    pub what: &'static str,
    pub key: Text,
    /// Names of the parts that differ.
    pub differs: Vec<&'static str>,
    pub first: Digest,
    /// Digest of the repeated request.
    pub given: Digest,
}

impl RequestParts {
    /// A request without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part that is compared as text.
    #[must_use]
    pub fn text(mut self, part: &'static str, text: &str) -> Self {
        self.0.push((part, text.as_bytes().to_vec()));
        self
    }

    /// Adds a part that is compared as JSON if it is valid JSON, and as bytes otherwise.
    #[must_use]
    pub fn data(mut self, part: &'static str, data: &[u8]) -> Self {
        let json = serde_json::from_slice::<Json>(data);
        self.0.push((part, json.map_or_else(|_| data.to_vec(), |json| canonical(&json))));
        self
    }

    /// Adds a part that is compared as JSON.
    #[must_use]
    pub fn json(mut self, part: &'static str, json: &Json) -> Self {
        self.0.push((part, canonical(json)));
        self
    }

    pub fn digest(&self) -> Digest {
        let parts: Vec<&[u8]> =
            self.0.iter().flat_map(|(part, bytes)| [part.as_bytes(), bytes]).collect();
        Digest::of_parts(&parts)
    }

    /// Checks that this request repeats the first one under a key: all its parts are the same.
    ///
    /// # Errors
    /// [`KeyReuseError`].
    pub fn repeats(
        &self,
        first: &Self,
        what: &'static str,
        key: &str,
    ) -> Result<(), KeyReuseError> {
        let differs = |part: &'static str| {
            let of = |asked: &Self| asked.0.iter().find(|(name, _)| *name == part).cloned();
            of(self) != of(first)
        };
        let differs: Vec<&str> =
            self.0.iter().map(|(part, _)| *part).filter(|part| differs(part)).collect();
        if differs.is_empty() {
            return Ok(());
        }
        let (first, given) = (first.digest(), self.digest());
        Err(KeyReuseError { what, key: Text::from(key), differs, first, given })
    }
}

/// Canonical text of JSON: equal values have the same text. Object keys are sorted, and there is no
/// whitespace.
fn canonical(json: &Json) -> Vec<u8> {
    fn write(json: &Json, text: &mut String) {
        match json {
            Json::Array(items) => {
                text.push('[');
                for item in items {
                    write(item, text);
                    text.push(',');
                }
                text.push(']');
            }
            Json::Object(fields) => {
                let mut sorted: Vec<(&String, &Json)> = fields.iter().collect();
                sorted.sort_by_key(|(name, _)| *name);
                text.push('{');
                for (name, value) in sorted {
                    let _ = write!(text, "{}:", Json::from(name.as_str()));
                    write(value, text);
                    text.push(',');
                }
                text.push('}');
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                let _ = write!(text, "{json}");
            }
        }
    }
    let mut text = String::new();
    write(json, &mut text);
    text.into_bytes()
}

/// First 16 digits of a digest, enough to distinguish two requests.
fn short(digest: &Digest) -> String {
    let mut digest = digest.to_string();
    digest.truncate(16);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_compared_as_json_and_differences_are_named() {
        let asked = |target: &str, input: &str| {
            RequestParts::new().text("function", target).data("input", input.as_bytes())
        };
        let first = asked("shop/order", r#"{"a": [1, "x"], "b": null}"#);
        for (target, input, differs) in [
            ("shop/order", r#"{"b":null,"a":[1,"x"]}"#, &[][..]),
            ("shop/order", r#"{"a":[1,"x"],"b":0}"#, &["input"]),
            ("shop/order", r#"{"a":["x",1],"b":null}"#, &["input"]),
            ("shop/ship", r#"{"a":[1,"x"],"b":null}"#, &["function"]),
            ("shop/ship", "no JSON", &["function", "input"]),
        ] {
            let given = asked(target, input);
            let found = given.repeats(&first, "the id", "o-1");
            let found = found.map_or_else(|reused| reused.differs, |()| Vec::new());
            assert_eq!(found, differs, "{target} {input}");
            assert_eq!(given.digest() == first.digest(), differs.is_empty());
        }
        let reused = asked("shop/ship", "1").repeats(&first, "the key", "a\nb");
        let said = reused.expect_err("it differs").to_string();
        for part in [
            "the key `a\\nb` was used for another request: another function and another input",
            &short(&first.digest()),
            &short(&asked("shop/ship", "1").digest()),
            "use another key",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
