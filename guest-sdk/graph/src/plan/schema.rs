//! The JSON Schema of plans, for editors and for programs that write plans.

use serde_json::Value;

/// The JSON Schema (2020-12) of plans, as text. It describes the form of each part.
/// [`Plan::check`](super::Plan::check) finds the faults that only the whole shows, such as cycles
/// and unknown node names.
pub const SCHEMA: &str = include_str!("schema.json");

/// The schema as a value.
pub fn json_schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}
