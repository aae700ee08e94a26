//! The form of plans for editors and for programs that write them.

use serde_json::Value;

/// The JSON Schema (2020-12) of plans, as text. It knows the form of each part; what only the whole
/// shows, such as cycles and names of nodes that do not exist, [`Plan::check`](super::Plan::check)
/// finds.
pub const SCHEMA: &str = include_str!("schema.json");

/// The schema as a value.
pub fn json_schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}
