//! The result of the search for a compiler.

use std::path::PathBuf;

use super::source::ToolchainSource;

/// A compiler for `wasm32-unknown-unknown` and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    pub road: ToolchainSource,
    /// Path of the compiler. `None` for the compiler that cargo uses by default.
    pub rustc: Option<PathBuf>,
    /// The folder of the target's standard library. `None` if it is installed with the compiler.
    pub sysroot: Option<PathBuf>,
    /// The compiler's version line: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub version: String,
}
