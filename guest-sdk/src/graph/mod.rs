//! Graphs in Rust: steps and their dependencies, declared with `#[segno::graph]`.
//!
//! The function under the attribute gets a [`Graph`] and a handle of the input. It adds nodes,
//! whose [`Output`]s are the inputs of other nodes, and returns the outputs that form the result.
//! It is executed when a run begins and produces a plan, which the host runs: independent nodes run
//! in parallel, and the module need not be in memory meanwhile.
//!
//! ```
//! # extern crate segno_sdk as segno;
//! use segno::{ActivityContext, Result, graph::{Graph, Input, Output}, testing::Test};
//!
//! #[segno::data]
//! struct Sources {
//!     north: String,
//!     south: String,
//! }
//!
//! #[segno::activity]
//! async fn fetch(_ctx: ActivityContext, source: String) -> Result<Vec<u64>> {
//!     Ok(vec![source.len() as u64])
//! }
//!
//! #[segno::activity]
//! async fn merge(_ctx: ActivityContext, (left, right): (Vec<u64>, Vec<u64>)) -> Result<u64> {
//!     Ok(left.iter().chain(&right).sum())
//! }
//!
//! /// Fetches two lists at the same time, and merges them.
//! #[segno::graph]
//! fn prices(graph: &Graph, sources: Input<Sources>) -> Output<u64> {
//!     let north = graph.call("fetch_north", fetch, sources.at("/north"));
//!     let south = graph.call("fetch_south", fetch, sources.at("/south"));
//!     graph.call("merge", merge, (north, south))
//! }
//!
//! let sources = Sources { north: "n".to_owned(), south: "ss".to_owned() };
//! assert_eq!(Test::new().run(prices, &sources).unwrap(), 3);
//! ```
//!
//! A missing edge, or one of another type, does not compile:
//!
//! ```compile_fail,E0277
//! # extern crate segno_sdk as segno;
//! # use segno::{ActivityContext, Result, graph::{Graph, Output}};
//! # #[segno::activity]
//! # async fn fetch(_ctx: ActivityContext) -> Result<Vec<u64>> {
//! #     Ok(Vec::new())
//! # }
//! # #[segno::activity]
//! # async fn merge(_ctx: ActivityContext, (left, right): (Vec<u64>, Vec<u64>)) -> Result<u64> {
//! #     Ok(left.iter().chain(&right).sum())
//! # }
//! #[segno::graph]
//! fn prices(graph: &Graph) -> Output<u64> {
//!     let north = graph.call("fetch_north", fetch, ());
//!     graph.call("merge", merge, north) // `merge` takes two lists
//! }
//! ```

mod nodes;
mod output;

mod source;

mod condition;
mod order;
mod request;

mod run;

pub use condition::{Condition, Number};
pub use nodes::Graph;
pub use order::Order;
pub use output::{Input, Output, Place};
pub use request::Request;
pub use run::{GraphFunction, OneOutput, Returned, plan_of};
pub use source::{Constant, Expression, Record, Source, record, value};

#[doc(hidden)]
pub use run::{check, run};
