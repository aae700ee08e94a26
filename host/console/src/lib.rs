//! The console: the pages that the host serves to browsers, embedded in this binary.
//!
//! The pages are ES modules that the browser runs as written: nothing is bundled or transpiled, so
//! a build needs only Rust's tools. They use only the host's public API. This crate depends on
//! neither HTTP nor the host: it provides the files, their digest and their compressed form.
//!
//! All files share one digest, which is part of their paths. So browsers may cache them forever,
//! relative imports between modules need no rewriting, and a page never mixes the files of two
//! versions.

#![forbid(unsafe_code)]

mod files;

pub use files::{asset, page};
pub use segno_asset::Asset;

/// The `Content-Security-Policy` of the pages: they may load their own files and call their own
/// host, and nothing else. Inline scripts and styles are disabled.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[cfg(test)]
mod tests;
