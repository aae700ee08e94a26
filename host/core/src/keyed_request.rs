//! Whether two requests under one key, or one id, are the same.
//!
//! What counts is what is asked for: the function or the name, and the input, compared as JSON. Labels, time limits and
//! the instant of a start are those of the first request: whoever repeats one mostly computes them anew.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::{id::Digest, value::Text};

/// What is asked for, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestParts(Vec<(&'static str, Vec<u8>)>);

/// A key, or an id, that stands for another request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} `{}` stands for another request: another {}; the first one has the digest {}, and this one {}; nothing was done: \
     use another {}",
    .key.escape_debug(), .differs.join(" and another "), short(.first), short(.given), .what.trim_start_matches("the ")
)]
pub struct KeyReused {
    /// What it is: `the id`, or `the key`.
    pub what: &'static str,
    /// The key.
    pub key: Text,
    /// The parts in which the two differ.
    pub differs: Vec<&'static str>,
    /// The digest of the first request.
    pub first: Digest,
    /// The digest of the one that came now.
    pub given: Digest,
}

impl RequestParts {
    /// A request for nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a part that is compared as it is.
    #[must_use]
    pub fn text(mut self, part: &'static str, text: &str) -> Self {
        self.0.push((part, text.as_bytes().to_vec()));
        self
    }

    /// With a part that is compared as JSON, if it is.
    #[must_use]
    pub fn data(mut self, part: &'static str, data: &[u8]) -> Self {
        let json = serde_json::from_slice::<Json>(data);
        self.0.push((part, json.map_or_else(|_| data.to_vec(), |json| canonical(&json))));
        self
    }

    /// With a part that is JSON.
    #[must_use]
    pub fn json(mut self, part: &'static str, json: &Json) -> Self {
        self.0.push((part, canonical(json)));
        self
    }

    /// The digest of all parts.
    pub fn digest(&self) -> Digest {
        let parts: Vec<&[u8]> =
            self.0.iter().flat_map(|(part, bytes)| [part.as_bytes(), bytes]).collect();
        Digest::of_parts(&parts)
    }

    /// Checks that this request repeats the first one under a key: both have the same parts.
    ///
    /// # Errors
    /// [`KeyReused`].
    pub fn repeats(&self, first: &Self, what: &'static str, key: &str) -> Result<(), KeyReused> {
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
        Err(KeyReused { what, key: Text::from(key), differs, first, given })
    }
}

/// JSON in one form for all that are equal: the names of an object in order, and no blanks.
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

/// The beginning of a digest, enough to tell two requests apart.
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
            "the key `a\\nb` stands for another request: another function and another input",
            &short(&first.digest()),
            &short(&asked("shop/ship", "1").digest()),
            "use another key",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
