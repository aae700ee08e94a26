//! Plans: documents that people, programs and language models write to describe a graph to run.
//! JSON and TOML have one shape:
//!
//! ```toml
//! name = "prices"            # optional
//! max_parallel = 8           # optional: 1 to 1000, 16 without it
//! on_failure = "drain"       # or "fail-fast"
//! outputs = ["report"]       # optional: the nodes without successors
//! [nodes.fetch]
//! call = "fetch"
//! input = { url = { "$from" = "input", at = "/url" } }
//! retry = { initial = "1s", factor = 2.0, max = "1m", max_attempts = 5 }
//! timeout = "5m"
//! [nodes.report]
//! call = "report"
//! needs = ["fetch"]
//! when = { from = "fetch", at = "/ok", is = true }
//! ```
//!
//! A node is exactly one of `call`, `http`, `sleep`, `promise`, `signal` and `graph`; see [`NodeAction`].
//! [`Plan::check`] finds all faults in one pass and explains how to fix each.

mod canonical;
mod checked;
mod condition;
mod draw;
mod fault;
mod node;
mod read;
mod request;
mod schema;
mod template;
mod tree;

use serde::{Deserialize, Deserializer};

pub use checked::CheckedPlan;
pub use condition::{Condition, ConditionTest};
pub use draw::{dot, mermaid};
pub use fault::{PlanErrors, PlanFault};
pub use node::{
    FunctionTarget, LossRule, NodeAction, NodeRetry, PlanNode, RequestTemplate, SubGraph,
};
pub use request::{NodeRequest, RequestTextError};
pub use schema::{SCHEMA, json_schema};
pub use template::INPUT;

use tree::PlanValue;

/// Maximum number of nodes of a plan, including nested plans.
pub const MAX_NODES: usize = 100_000;
/// Maximum number of edges of a plan, including nested plans.
pub const MAX_EDGES: usize = 1_000_000;
/// Maximum size of a plan's text, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum nesting depth of plans; a plan without nested ones has depth 1.
pub const MAX_DEPTH: usize = 8;
/// Default maximum number of concurrent nodes.
pub const DEFAULT_PARALLEL: u32 = 16;
/// Upper limit for the number of concurrent nodes.
pub const MAX_PARALLEL: u32 = 1_000;
/// Maximum number of faults that are listed individually.
pub const MAX_FAULTS: usize = 100;

/// A parsed plan that is not yet checked. Any data can be parsed; duplicate keys are kept, and
/// reported by [`Plan::check`].
#[derive(Clone, Debug)]
pub struct Plan {
    tree: PlanValue,
}

impl Plan {
    /// Parses a plan from JSON.
    ///
    /// # Errors
    /// [`PlanErrors`] if the text is too long or not JSON.
    pub fn from_json(text: &str) -> Result<Self, PlanErrors> {
        if text.len() > MAX_BYTES {
            return Err(PlanErrors::one("", fault::too_long(text.len())));
        }
        let no_json = |error| PlanErrors::one("", format!("this is no JSON: {error}"));
        serde_json::from_str(text).map_err(no_json)
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { tree: PlanValue::deserialize(deserializer)? })
    }
}
