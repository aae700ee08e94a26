//! Graph runs: an invocation whose target is [`GRAPH_RUN`](crate::address::GRAPH_RUN) runs a plan. Its
//! parameter is the plan and its input, its nodes' attempts are promises that it makes, and what is known of its nodes are
//! rows.
//!
//! ```text
//! {run}/n/{node}/{attempt}   an attempt of a node, from 0
//! {run}/sig/{name}           a signal; it is made by the first node that waits for it, or by its sender
//! ```
//!
//! What a run does next is told by `segno_graph::Progress` from the rows alone; outputs are the
//! values of promises.

mod fact;
mod recover;
mod row;
mod start;

pub use fact::{NodeEvent, NodeFact, NodeFactKey, Reset, Resets};
pub use row::{NodeRow, NodeState};
pub use start::{NotARun, Persistence, Start, is_run};
