//! Validation of JSON. One rule applies, and it is checked once, where a value enters Segno.
//!
//! A text that passes is readable by every later reader and round-trips unchanged. The parser is
//! `serde_json`, the same that reads it later. In addition, texts are refused that a reader would
//! change silently or fail on:
//!
//! - unpaired surrogates (`"\ud83d"`), which are not characters;
//! - duplicate keys in one object, of which most readers drop one;
//! - more than [`DEPTH_MAX`] levels: each envelope adds some, and `serde_json` stops at 128;
//! - keys that `serde_json` reserves for itself.
//!
//! Numbers may have any number of digits. `NaN` and infinities are not JSON.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

/// Maximum depth of a value, in nested lists and objects.
pub const DEPTH_MAX: usize = 100;
/// Maximum depth of a request whose fields are values.
pub const REQUEST_DEPTH_MAX: usize = DEPTH_MAX + 1;

/// Maximum number of keys of an object that are searched linearly; more go into a hash set.
const FEW_KEYS: usize = 16;
/// Maximum number of characters of an invalid word that an error message repeats.
const WORD_MAX: usize = 24;
/// Prefix of the keys by which `serde_json` recognises its own types.
const RESERVED: &str = "$serde_json::private::";

/// Error: a text is not valid JSON, with the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Description of the defect.
    pub reason: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, line, column } = self;
        match line {
            0 | 1 => write!(out, "{reason} at column {column}"),
            _ => write!(out, "{reason} at line {line}, column {column}"),
        }
    }
}

impl std::error::Error for JsonError {}

/// Checks a value against the rule of this module.
///
/// # Errors
/// The text is not JSON by the rule of this module.
pub fn check(text: &str) -> Result<(), JsonError> {
    check_within(text.as_bytes(), DEPTH_MAX)
}

/// Checks a value, or a document of another protocol that contains values, with this maximum depth.
///
/// # Errors
/// The text is not JSON by the rule of this module.
pub fn check_within(bytes: &[u8], depth_max: usize) -> Result<(), JsonError> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let levels = DepthVisitor { left: depth_max, all: depth_max };
    let checked = levels.deserialize(&mut parser).and_then(|()| parser.end());
    checked.map_err(|error| not_json(bytes, &error))
}

/// Checks the depth of a parsed value.
///
/// # Errors
/// The value is deeper than [`DEPTH_MAX`].
pub fn check_depth(value: &serde_json::Value) -> Result<(), JsonError> {
    fn fits(value: &serde_json::Value, left: usize) -> bool {
        match value {
            serde_json::Value::Array(list) => {
                left > 0 && list.iter().all(|item| fits(item, left - 1))
            }
            serde_json::Value::Object(fields) => {
                left > 0 && fields.values().all(|field| fits(field, left - 1))
            }
            _ => true,
        }
    }
    match fits(value, DEPTH_MAX) {
        true => Ok(()),
        false => Err(JsonError { reason: too_deep(DEPTH_MAX), line: 1, column: 1 }),
    }
}

/// Checks and parses a value.
///
/// # Errors
/// The text is not JSON by the rule of this module.
pub fn parse(text: &str) -> Result<serde_json::Value, JsonError> {
    check(text)?;
    read(text.as_bytes())
}

/// Parses a stored value without checking it against the current rule.
///
/// # Errors
/// `serde_json` cannot parse it.
pub fn read(bytes: &[u8]) -> Result<serde_json::Value, JsonError> {
    serde_json::from_slice(bytes).map_err(|error| not_json(bytes, &error))
}

/// Visitor that checks a value with a maximum depth in levels.
#[derive(Clone, Copy)]
struct DepthVisitor {
    left: usize,
    all: usize,
}

impl DepthVisitor {
    fn below<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1).ok_or_else(|| E::custom(too_deep(self.all)))?;
        Ok(Self { left, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for DepthVisitor {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DepthVisitor {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let below = self.below()?;
        while items.next_element_seed(below)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut keys = KeySet::default();
        let mut below = None;
        while let Some(key) = entries.next_key_seed(JsonKeyVisitor)? {
            let JsonKey::Text(key) = key else {
                return entries.next_value_seed(DepthVisitor { ..self });
            };
            if key.starts_with(RESERVED) {
                return Err(A::Error::custom(format_args!("the reserved key `{key}`")));
            }
            keys.add(key)?;
            let below = match below {
                Some(below) => below,
                None => *below.insert(self.below()?),
            };
            entries.next_value_seed(below)?;
        }
        match below {
            Some(_) => Ok(()),
            None => self.below().map(drop),
        }
    }
}

/// A key of an object, or the marker of a number: `serde_json` passes numbers of arbitrary length
/// as an object with one field.
enum JsonKey<'de> {
    Text(Cow<'de, str>),
    Number,
}

/// Distinguishes the two: `serde_json` passes only keys from the text as a newtype.
struct JsonKeyVisitor;

impl<'de> DeserializeSeed<'de> for JsonKeyVisitor {
    type Value = JsonKey<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonKey<'de>, D::Error> {
        deserializer.deserialize_newtype_struct("Key", self)
    }
}

impl<'de> Visitor<'de> for JsonKeyVisitor {
    type Value = JsonKey<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, _: &'de str) -> Result<JsonKey<'de>, E> {
        Ok(JsonKey::Number)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, key: D) -> Result<JsonKey<'de>, D::Error> {
        key.deserialize_str(KeyTextVisitor).map(JsonKey::Text)
    }
}

struct KeyTextVisitor;

impl<'de> Visitor<'de> for KeyTextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[derive(Default)]
struct KeySet<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> KeySet<'de> {
    fn add<E: Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.few.contains(&key) || self.many.contains(&key) {
            let key: String = key.chars().take(WORD_MAX).collect();
            return Err(E::custom(format_args!("the key `{key}` a second time")));
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        Ok(())
    }
}

fn too_deep(depth_max: usize) -> String {
    format!("more than {depth_max} levels of lists and objects")
}

/// Translates a parser error into the wording of this module.
pub fn not_json(bytes: &[u8], error: &serde_json::Error) -> JsonError {
    let (line, column) = (error.line(), error.column());
    let said = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = said.strip_suffix(&place).unwrap_or(&said);
    let (reason, column) = match reason {
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            ("half of a surrogate pair, which is no character".to_owned(), column)
        }
        "recursion limit exceeded" => (too_deep(127), column),
        "EOF while parsing a value" if bytes.trim_ascii().is_empty() => {
            ("nothing, not even `null`,".to_owned(), column.max(1))
        }
        "expected value" | "expected ident" | "invalid number" => match word(bytes, line, column) {
            Some((word, column)) => (word, column),
            None => (reason.to_owned(), column),
        },
        _ => (reason.to_owned(), column),
    };
    JsonError { reason, line, column }
}

/// The bare word around a position, such as `NaN`, and the column at which it begins.
fn word(bytes: &[u8], line: usize, column: usize) -> Option<(String, usize)> {
    let line = bytes.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
    let at = column.checked_sub(1)?.min(line.len().checked_sub(1)?);
    let begin = at - line[..=at].iter().rev().skip(1).take_while(|byte| is_part(byte)).count();
    let word: Vec<u8> = line[begin..].iter().copied().take_while(is_part).take(WORD_MAX).collect();
    let word = String::from_utf8(word).ok()?;
    let is_word = word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_alphabetic());
    (is_word && !matches!(&*word, "null" | "true" | "false")).then_some((word, begin + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_not_json_is_named_with_its_place() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let objects =
            |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        for (text, said) in [
            ("NaN", "NaN at column 1"),
            ("[1, -Infinity]", "-Infinity at column 5"),
            ("{\"a\":\n nan}", "nan at line 2, column 2"),
            ("undefined", "undefined at column 1"),
            ("{'a': 1}", "key must be a string at column"),
            ("{\"a\": None}", "None at column 7"),
            ("", "nothing, not even `null`, at column 1"),
            ("1 2", "trailing characters at column 3"),
            ("01", "invalid number at column"),
            ("[1,]", "trailing comma at column 4"),
            (r#""\ud83d""#, "half of a surrogate pair, which is no character at column"),
            (r#"["\ud83d x"]"#, "half of a surrogate pair, which is no character at column"),
            (r#"{"\udc00": 1}"#, "half of a surrogate pair, which is no character at column"),
            (r#"{"a": 1, "\u0061": 2}"#, "the key `a` a second time at column"),
            (r#"{"$serde_json::private::Number": "1"}"#, "the reserved key"),
            (r#"{"\u0024serde_json::private::RawValue": "[]"}"#, "the reserved key"),
            (&deep(101), "more than 100 levels of lists and objects at column"),
            (&deep(5000), "more than 100 levels of lists and objects at column"),
            (&objects(101), "more than 100 levels of lists and objects"),
        ] {
            let refused = check(text).expect_err(text).to_string();
            assert!(refused.starts_with(said), "{text}: {refused}");
        }
        for text in [
            &*deep(100),
            &*objects(100),
            " {\"a\": [1.50, -0, 1e400, 123456789012345678901234567890]} ",
            r#"{"": {"a": 1}, "b": {"a": "\ud83d\ude00 \u0000"}}"#,
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        assert!(check_within(&[b'"', 0xff, b'"'], 1).is_err(), "bytes that are no text");
        let many: Vec<String> = (0..40).map(|key| format!("\"{key}\":0")).collect();
        assert_eq!(check(&format!("{{{}}}", many.join(","))), Ok(()));
        assert!(check(&format!("{{{},\"39\":1}}", many.join(","))).is_err());
    }

    #[test]
    fn the_depth_of_what_was_parsed_is_that_of_its_text() {
        for levels in [99, 100, 101] {
            let text = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
            let value = read(text.as_bytes()).expect("serde_json reads 127 levels");
            assert_eq!(check_depth(&value).is_ok(), levels <= DEPTH_MAX, "{levels}");
        }
    }

    #[test]
    fn numbers_keep_every_digit() {
        for text in ["123456789012345678901234567890", "1.0", "1.50", "-0.0", "1e+400", "0.1"] {
            assert_eq!(parse(text).expect("a number").to_string(), text);
        }
        assert_eq!(parse("-1E5").expect("a number").to_string(), "-1e+5");
    }

    /// Arbitrary JSON with unusual texts, long numbers and empty keys.
    fn any_json() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            "-?[1-9][0-9]{0,40}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        ];
        let number = number.prop_map(|text| read(text.as_bytes()).expect("a number"));
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            number,
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(12, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_passes_is_read_and_comes_out_as_it_went_in(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(check(&text), Ok(()));
            prop_assert_eq!(parse(&text).map(|read| read.to_string()), Ok(text));
        }

        #[test]
        fn what_passes_is_always_read(text in "[\\[\\]{}\",:0-9a\\\\ueE.+-]{0,24}") {
            if check(&text).is_ok() {
                prop_assert!(read(text.as_bytes()).is_ok());
            }
        }
    }
}
