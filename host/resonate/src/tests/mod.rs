//! The operations on a host without workers, sent as clients send them.

mod decoder;
mod differential;
mod http;
mod neighbours;
mod operations;
mod rights;
mod traces;
mod world;

use serde_json::Value as Json;

/// Returns true if a value contains `null`: a field without a value must be omitted.
fn has_null(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.iter().any(has_null),
        Json::Object(fields) => fields.values().any(has_null),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}
