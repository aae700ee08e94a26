//! The operations over a host without workers of its own, asked as clients ask.

mod decoder;
mod differential;
mod http;
mod neighbours;
mod operations;
mod rights;
mod traces;
mod world;

use serde_json::Value as Json;

/// Whether anything in it is `null`: a field that has no value is left out.
fn has_null(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.iter().any(has_null),
        Json::Object(fields) => fields.values().any(has_null),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}
