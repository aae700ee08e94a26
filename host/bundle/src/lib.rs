//! Bundles: one file with executions, their journals, logs, streams and values, blobs, the components that
//! ran them, and the engine's settings, so that they can be replayed anywhere, without a host.
//!
//! The crate knows the format (`docs/how-to/bundles.md`) and nothing of stores, guests or HTTP: it
//! writes to a [`std::io::Write`] and reads from a [`std::io::Read`]. A reader checks every byte
//! against a hash chain, and parts against each other.

#![forbid(unsafe_code)]

mod chain;
mod error;
mod part;
mod pieces;

mod blob;
mod execution;
mod head;
mod line;
mod module;
mod stream;

mod reader;
mod redact;
mod writer;

#[cfg(test)]
mod tests;

pub use blob::BundleBlob;
pub use chain::ChainLink;
pub use error::{BundleError, BundlePosition};
pub use execution::{BundleExecution, BundleRole};
pub use head::{BundleHead, Redaction};
pub use line::BundleLine;
pub use module::BundleModule;
pub use part::{FORMAT, PartKind};
pub use reader::{BundleItem, BundleReader, UnpackBounds, is_bundle};
pub use redact::redacted;
pub use stream::{BundleStream, BundleStreamItems};
pub use writer::{BundleSummary, BundleWriter};

/// File name extension of bundles.
pub const EXTENSION: &str = "segno-bundle";
