//! Graph runs of Segno, pure: which nodes are ready, what a failure closes, when a run has settled;
//! and the plans that people, programs and language models write. No I/O, clock or randomness: the
//! host decides with it, and guests compile it to test their plans.
//!
//! The rules are there twice. [`rules`] are the definitions, short and slow, over names; [`Progress`]
//! is what runs, over indices, where a fact costs what it touches. The tests hold the second to the
//! first.
//!
//! In the order a newcomer should read:
//! - [`NodeName`], [`Graph`], [`Relation`]: names, the algebra of graphs, its meaning as edges;
//! - [`state`]: what is known of the nodes of a run;
//! - [`rules`]: the definitions;
//! - [`Topology`], [`Progress`]: edges between indices, and a run over them;
//! - [`plan`]: what is written to have a graph run.

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

pub use graph::Graph;
pub use name::{InvalidName, NodeName};
pub use progress::Progress;
pub use relation::{CycleError, Relation};
pub use topology::{NodeIndex, Topology};
