//! A compiler for `wasm32-unknown-unknown`: found where there is one, prepared where that is allowed.
//!
//! There are four [`ToolchainSource`]s. The `search` first looks for one that is finished, in order; if there is none and preparing
//! is allowed, it prepares one, in the same order. Each road that fails says why, and the next is tried. What is prepared
//! is kept in the cache, whole or not at all: folders are made under another name and moved into place.

mod apt;
mod debian;
mod native;
mod rust_src;
mod rustup;
mod search;
mod source;
mod std_library;

use std::path::{Path, PathBuf};

pub use search::{Attempt, ToolchainError};
pub use source::ToolchainSource;

use super::{Progress, cache, cargo};
use search::{Strategy, choose};

/// A compiler for `wasm32-unknown-unknown` and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// How it was found.
    pub road: ToolchainSource,
    /// The compiler; none: the one that cargo finds by itself.
    pub rustc: Option<PathBuf>,
    /// Where the target's standard library is, when it is not beside the compiler.
    pub sysroot: Option<PathBuf>,
    /// What the compiler calls itself: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub version: String,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Only this road.
    pub road: Option<ToolchainSource>,
    /// Whether anything may be downloaded, built or installed.
    pub prepare: bool,
    /// The folder for which a compiler is wanted: a `rust-toolchain.toml` there is obeyed.
    pub directory: PathBuf,
    /// Where prepared toolchains are kept.
    pub cache: PathBuf,
}

impl Request {
    /// As the environment says: `SEGNO_WASM_TOOLCHAIN` names the road, `SEGNO_CACHE_DIR` the cache.
    ///
    /// # Errors
    /// When the road has no such name, or there is nowhere to keep a cache.
    pub fn from_environment(directory: &Path, prepare: bool) -> Result<Self, ToolchainError> {
        Ok(Self {
            road: ToolchainSource::from_environment()?,
            prepare,
            directory: directory.to_owned(),
            cache: cache::directory()?.join("toolchain"),
        })
    }
}

/// Finds a toolchain, or prepares one if the request allows that. Nothing is changed otherwise.
///
/// # Errors
/// [`ToolchainError::None`] lists each road and why it is closed, and what to type.
pub fn find(request: &Request, progress: &dyn Progress) -> Result<Toolchain, ToolchainError> {
    let rustc = native::Rustc::new(cargo::active_rustc(), &request.directory);
    let ways: [&dyn Strategy; 4] = [
        &native::Native { rustc: &rustc },
        &rust_src::RustSrc { rustc: &rustc, cache: &request.cache },
        &rustup::Rustup { rustc: &rustc },
        &debian::Debian { cache: &request.cache },
    ];
    let ways: Vec<&dyn Strategy> =
        ways.into_iter().filter(|way| request.road.is_none_or(|road| road == way.road())).collect();
    choose(&ways, request.prepare, progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows `SEGNO_WASM_TOOLCHAIN` and `SEGNO_CACHE_DIR`, so each road can be tried from an empty cache.
    #[test]
    fn a_prepared_toolchain_is_found_again_without_preparing() {
        let folder = tempfile::tempdir().unwrap();
        let request = |prepare| Request::from_environment(folder.path(), prepare).unwrap();
        let prepared = find(&request(true), &|message: &str| eprintln!("{message}")).unwrap();
        assert_eq!(find(&request(false), &|_: &str| ()).unwrap(), prepared);
    }
}
