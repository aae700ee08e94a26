//! Extraction of an execution's key and priority from its input.
//!
//! The parameter of an invocation is `{"func": NAME, "args": [INPUT]}`, as released clients write
//! it. Several arguments are an array, named ones (`kwargs`) an object, and the Rust client passes
//! a single one bare.

use serde_json::Value as Json;

use super::{AdmissionRule, HIGHEST_PRIORITY, LimitName};
use crate::{
    id::{NameLengthError, fits_within},
    value::{Text, Value},
};

/// Maximum length of a key, in bytes: stores index it together with the name of the limit.
const LONGEST_KEY: usize = 1_024;

/// Error: the input does not contain the value that a limit needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitInputError {
    /// The input is not JSON.
    #[error("the input of `{limit}` is no JSON, and its limit takes the {what} `{path}` from it")]
    NotJson {
        limit: LimitName,
        /// The value that the limit needs: key or priority.
        what: &'static str,
        /// Path in the input.
        path: Text,
    },
    /// There is no value at the path.
    #[error(
        "the limit of `{limit}` takes the {what} from `{path}` of the input, where nothing is: pass it, or change the limit (segno limit set)"
    )]
    Missing {
        limit: LimitName,
        /// The value that the limit needs: key or priority.
        what: &'static str,
        /// Path in the input.
        path: Text,
    },
    /// The value at the path has the wrong type.
    #[error(
        "the limit of `{limit}` takes the {what} from `{path}` of the input, where {found} is: it takes {takes}"
    )]
    Wrong {
        limit: LimitName,
        /// The value that the limit needs: key or priority.
        what: &'static str,
        /// Path in the input.
        path: Text,
        found: &'static str,
        takes: String,
    },
    /// The key is too long for a store to index.
    #[error(transparent)]
    TooLong(#[from] NameLengthError),
}

/// The key of an execution with this parameter. Empty if the rule does not use a key.
///
/// # Errors
/// [`LimitInputError`]: the value is missing, or is not a text, a number or a boolean.
pub fn key_of(
    limit: &LimitName,
    rule: &AdmissionRule,
    param: &Value,
) -> Result<String, LimitInputError> {
    let Some(path) = &rule.key else { return Ok(String::new()) };
    let what = "key";
    let input = input(param).ok_or_else(|| not_json(limit, what, path))?;
    let key = match find(&input, path) {
        None | Some(Json::Null) => {
            return Err(LimitInputError::Missing {
                limit: limit.clone(),
                what,
                path: path.clone(),
            });
        }
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        Some(Json::Bool(truth)) => truth.to_string(),
        Some(other @ (Json::Array(_) | Json::Object(_))) => {
            let takes = "a text, a number or a truth value".to_owned();
            return Err(wrong(limit, what, path, other, takes));
        }
    };
    fits_within("the key of a limit", &key, LONGEST_KEY)?;
    Ok(key)
}

/// The priority of an execution with this parameter. The lowest if the value is missing.
///
/// # Errors
/// [`LimitInputError`]: the value is not a priority.
pub fn priority_of(
    limit: &LimitName,
    rule: &AdmissionRule,
    param: &Value,
) -> Result<u8, LimitInputError> {
    let Some(path) = rule.priority.as_ref().map(|priority| &priority.path) else { return Ok(0) };
    let what = "priority";
    let input = input(param).ok_or_else(|| not_json(limit, what, path))?;
    let Some(found) = find(&input, path).filter(|found| !found.is_null()) else { return Ok(0) };
    let number = found.as_u64().and_then(|number| u8::try_from(number).ok());
    number.filter(|priority| *priority <= HIGHEST_PRIORITY).ok_or_else(|| {
        let takes = format!("a whole number from 0 to {HIGHEST_PRIORITY}");
        wrong(limit, what, path, found, takes)
    })
}

fn not_json(limit: &LimitName, what: &'static str, path: &Text) -> LimitInputError {
    LimitInputError::NotJson { limit: limit.clone(), what, path: path.clone() }
}

fn wrong(
    limit: &LimitName,
    what: &'static str,
    path: &Text,
    found: &Json,
    takes: String,
) -> LimitInputError {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "another number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    LimitInputError::Wrong { limit: limit.clone(), what, path: path.clone(), found, takes }
}

/// The input in a parameter. `None` if the parameter is not JSON.
fn input(param: &Value) -> Option<Json> {
    let mut call: Json = serde_json::from_slice(&param.data).ok()?;
    let named = |call: &mut Json| call.get_mut("kwargs").map_or(Json::Null, Json::take);
    let is_call = call.get("func").is_some();
    Some(match call.get_mut("args") {
        Some(Json::Array(args)) if args.len() == 1 => args.remove(0),
        Some(Json::Array(args)) if !args.is_empty() => Json::Array(std::mem::take(args)),
        Some(Json::Array(_)) => named(&mut call),
        Some(Json::Null) if is_call => named(&mut call),
        Some(bare) if is_call => bare.take(),
        Some(_) | None => call,
    })
}

fn find<'a>(input: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(input, |inside, step| match inside {
        Json::Array(list) => list.get(step.parse::<usize>().ok()?),
        _ => inside.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(key: &str, priority: &str) -> AdmissionRule {
        let json = serde_json::json!({
            "key": key, "priority": { "path": priority }, "per_key": { "concurrency": 1 }
        });
        serde_json::from_value(json).expect("a rule")
    }

    fn said(param: &str, rule: &AdmissionRule) -> (Result<String, String>, Result<u8, String>) {
        let (limit, param) = (LimitName::from("m/f"), Value::of(param.as_bytes()));
        let told = |error: LimitInputError| error.to_string();
        (
            key_of(&limit, rule, &param).map_err(told),
            priority_of(&limit, rule, &param).map_err(told),
        )
    }

    #[test]
    fn keys_and_priorities_are_found_in_every_form_of_an_input() {
        for (param, key, priority) in [
            (r#"{"func":"f","args":[{"customer":{"id":"ada"},"p":3}]}"#, "ada", 3),
            (r#"{"func":"f","args":[{"customer":{"id":7}}]}"#, "7", 0),
            (r#"{"func":"f","args":[{"customer":{"id":true},"p":null}]}"#, "true", 0),
            (r#"{"func":"f","args":[],"kwargs":{"customer":{"id":"bo"},"p":9}}"#, "bo", 9),
            (r#"{"func":"f","args":{"customer":{"id":"bare"},"p":1}}"#, "bare", 1),
            (r#"{"customer":{"id":"raw"}}"#, "raw", 0),
        ] {
            let found = said(param, &rule("customer.id", "p"));
            assert_eq!(found, (Ok(key.to_owned()), Ok(priority)), "{param}");
        }
        let several = said(r#"{"func":"f","args":["a",{"p":1}]}"#, &rule("0", "1.p"));
        assert_eq!(several, (Ok("a".to_owned()), Ok(1)));
        let none = AdmissionRule::default();
        assert_eq!(said("\u{1}", &none), (Ok(String::new()), Ok(0)));
    }

    #[test]
    fn an_input_that_does_not_say_is_refused_by_name() {
        let rule = rule("customer.id", "p");
        for (input, said_of_key) in [
            ("{}", "takes the key from `customer.id` of the input, where nothing is"),
            (r#"{"customer":{"id":null}}"#, "where nothing is"),
            (r#"{"customer":{"id":[1]}}"#, "where a list is"),
            (r#"{"customer":{"id":{}}}"#, "where an object is"),
        ] {
            let param = format!(r#"{{"func":"f","args":[{input}]}}"#);
            let error = said(&param, &rule).0.expect_err(input);
            assert!(error.contains(said_of_key) && error.contains("`m/f`"), "{error}");
        }
        for (priority, said_of_it) in [
            ("10", "another number"),
            ("-1", "another number"),
            (r#""high""#, "a text"),
            ("1.5", "another number"),
        ] {
            let param = format!(r#"{{"args":[{{"customer":{{"id":"a"}},"p":{priority}}}]}}"#);
            let error = said(&param, &rule).1.expect_err(priority);
            assert!(error.contains(said_of_it) && error.contains("from 0 to 9"), "{error}");
        }
        assert!(said("\u{1}", &rule).0.expect_err("no JSON").contains("is no JSON"));
        let long = "x".repeat(LONGEST_KEY + 1);
        let param = format!(r#"{{"args":[{{"customer":{{"id":"{long}"}}}}]}}"#);
        assert!(said(&param, &rule).0.expect_err("too long").contains("is too long"));
    }
}
