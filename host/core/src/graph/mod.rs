//! Graph runs. An invocation whose target is [`GRAPH_RUN`](crate::address::GRAPH_RUN) runs a plan.
//! Its parameter is the plan and its input, the attempts of its nodes are promises that it creates,
//! and the state of its nodes is stored in rows.
//!
//! ```text
//! {run}/n/{node}/{attempt}   an attempt of a node, from 0
//! {run}/sig/{name}           a signal; it is made by the first node that waits for it, or by its sender
//! ```
//!
//! `segno_graph::Progress` derives the next steps of a run from the rows alone. Outputs are the
//! values of promises.

mod fact;
mod recover;
mod row;
mod start;

pub use fact::{NodeEvent, NodeFact, NodeFactKey, ResetHistory, ResetReason};
pub use row::{NodeRow, NodeState};
pub use start::{GraphRunError, GraphRunParameters, Persistence, is_run, parameter};
