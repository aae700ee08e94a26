//! The console: the pages that the host shows to browsers, as files in this binary.
//!
//! The pages are ES modules that run in the browser as they are written here: nothing is bundled or
//! translated, so a build needs no tools but Rust's. They know the host by its public API alone. This
//! crate knows neither HTTP nor the host: it has files, their digests and their compressed form.
//!
//! All files have one digest, which is part of their paths. So a browser may keep them for ever, the
//! relative imports between modules need not be rewritten, and a page never mixes the files of two
//! versions.

mod files;

pub use files::{asset, page};
pub use segno_asset::Asset;

/// What the pages may do: load their own files and ask their own host, and nothing else. Neither
/// scripts nor styles within a page count.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[cfg(test)]
mod tests;
