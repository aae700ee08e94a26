//! From Rust source to a component for the host: the implementation of `segno build` and `segno
//! new`.
//!
//! [`toolchain`] finds a compiler for `wasm32-unknown-unknown`, or installs one; [`crate_build`]
//! compiles workflow crates with it and wraps the modules as components; [`report`] describes a
//! component; [`template`] writes a new crate. Nothing here prints or knows the command line:
//! callers pass a [`Progress`] and get typed errors.

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

/// The target for workflows: its modules import only what the contract provides.
pub const TARGET: &str = "wasm32-unknown-unknown";
