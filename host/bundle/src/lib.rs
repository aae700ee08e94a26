//! Bundles: one file with executions, their journals, logs and values, the components that ran
//! them, and the engine's settings, so that they can be replayed anywhere, without a host.
//!
//! The crate knows the format (`docs/bundles.md`) and nothing of stores, guests or HTTP: it writes
//! to a [`std::io::Write`] and reads from a [`std::io::Read`]. A reader checks every byte against a
//! hash chain, and parts against each other.

#![forbid(unsafe_code)]

mod chain;
mod error;
mod part;

mod execution;
mod head;
mod line;
mod module;

mod reader;
mod redact;
mod writer;

#[cfg(test)]
mod tests;

pub use chain::Link;
pub use error::{BundleError, Place};
pub use execution::{Execution, Role};
pub use head::{Head, Redaction};
pub use line::Line;
pub use module::Module;
pub use part::{FORMAT, PartKind};
pub use reader::{Bounds, BundleReader, Item, is_bundle};
pub use redact::redacted;
pub use writer::{BundleWriter, Written};

/// File name extension of bundles.
pub const EXTENSION: &str = "segno-bundle";
