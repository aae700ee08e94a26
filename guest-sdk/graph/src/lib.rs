//! The pure logic of graph runs: ready nodes, closure under failure, and settlement; and the plans
//! that people, programs and language models write. It has no I/O, clock or randomness: the host
//! decides with it, and guests compile it to test their plans.
//!
//! The rules are implemented twice. [`rules`] has the definitions, short and slow, over names.
//! [`RunProgress`] is the production implementation, over indices, where a fact costs only the edges
//! that it touches. The tests check the second against the first.
//!
//! Reading order for newcomers:
//! - [`NodeName`], [`GraphExpression`], [`Relation`]: names, the algebra of graphs, and its meaning as edges;
//! - [`state`]: the known facts about the nodes of a run;
//! - [`rules`]: the definitions;
//! - [`Topology`], [`RunProgress`]: edges between indices, and a run over them;
//! - [`plan`]: the documents that describe graphs to run.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod graph;
mod name;
mod relation;

pub mod rules;
pub mod state;

pub mod progress;
mod topology;

pub mod plan;

pub use graph::GraphExpression;
pub use name::{InvalidName, NodeName};
pub use progress::RunProgress;
pub use relation::{CycleError, Relation};
pub use topology::{NodeIndex, Topology};
