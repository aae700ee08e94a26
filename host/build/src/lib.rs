//! From Rust source to a component that the host can run: everything behind `segno build` and `segno new`.
//!
//! [`toolchain`] finds a compiler for `wasm32-unknown-unknown`, or prepares one; [`crate_build`] compiles workflow crates
//! with it and wraps the modules as components; [`report`] says what is in a component; [`template`] writes a new crate.
//! Nothing here prints or knows the command line: callers pass a [`Progress`] and get typed errors.

mod cache;
mod cargo;
pub mod crate_build;
mod process;
mod progress;
pub mod report;
pub mod template;
pub mod toolchain;

pub use cache::CacheError;
pub use progress::Progress;

/// The target that workflows are compiled for: it imports nothing but what the contract says.
pub const TARGET: &str = "wasm32-unknown-unknown";
