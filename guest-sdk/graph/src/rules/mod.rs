//! The definitions: the consequences of the facts of a run. They are written for reading and
//! testing, not for speed; [`RunProgress`](crate::RunProgress) computes the same incrementally.
//!
//! After *Staged Reduction for Durable Workflow Execution*: facts are accumulated, each in its own
//! node; then the state is closed under failure; then it is classified. A recovered state is
//! normalised first ([`recover`]), and only normalised states are ever classified.

mod classify;
mod closure;
mod facts;
mod normalise;
mod ready;
mod well_formed;

pub use classify::{apply_frontier_results, classify};
pub use closure::propagate_failure;
pub use facts::apply_node_fact;
pub use normalise::{
    DeliveredSignals, recover, reset_running_to_pending, resolve_delivered_signals,
};
pub use ready::ready_nodes;
pub use well_formed::{GraphViolation, causal, well_formed};
