//! Builds components from source: the implementation of `segno build` and `segno new`.
//!
//! A [`Project`] is recognised by its files. For Rust, [`toolchain`] finds or installs a compiler
//! for `wasm32-unknown-unknown`, and [`crate_build`] compiles workflow crates with it and wraps the
//! modules as components; [`script`] does both for JavaScript and Python. [`report`] describes a
//! component; [`template`] writes a new project, with the SDK from `packages`. Nothing here prints
//! or knows the command line: callers pass a [`BuildProgress`] and receive typed errors.

#![forbid(unsafe_code)]

mod cache;
mod cargo;
pub mod crate_build;
mod language;
mod packages;
mod process;
mod progress;
mod project;
pub mod report;
pub mod script;
pub mod template;
pub mod toolchain;

pub use cache::{CacheError, directory as cache_directory};
pub use language::Language;
pub use progress::BuildProgress;
pub use project::{Project, ProjectError, ProjectOptions};

/// The compilation target of workflows: its modules import only functions of the contract.
pub const TARGET: &str = "wasm32-unknown-unknown";
