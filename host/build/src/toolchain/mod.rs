//! Provides a compiler for `wasm32-unknown-unknown`: finds one, or installs one if allowed.
//!
//! There are four [`ToolchainSource`]s. The `search` first checks, in order, if one is ready. If
//! none is and preparing is allowed, it prepares one, in the same order. Each failing source gives
//! a reason, and the next one is tried. A prepared toolchain is kept in the cache completely or not
//! at all: folders are created under another name and moved into place.

mod apt;
mod compiler;
mod debian;
mod native;
mod rust_src;
mod rustup;
mod search;
mod source;
mod std_library;

use std::path::{Path, PathBuf};

pub use compiler::Toolchain;
pub use search::{SkippedSource, ToolchainError};
pub use source::ToolchainSource;

use super::{BuildProgress, cache, cargo};
use search::{Strategy, choose};

/// The parameters of a search.
#[derive(Debug, Clone)]
pub struct ToolchainRequest {
    /// Restricts the search to this source. `None`: all sources.
    pub road: Option<ToolchainSource>,
    /// True to allow downloading, building and installing.
    pub prepare: bool,
    /// The folder to compile in: a `rust-toolchain.toml` there applies.
    pub directory: PathBuf,
    /// The folder for prepared toolchains.
    pub cache: PathBuf,
}

impl ToolchainRequest {
    /// Creates a request from the environment: `SEGNO_WASM_TOOLCHAIN` selects the source,
    /// `SEGNO_CACHE_DIR` the cache.
    ///
    /// # Errors
    /// Fails if no source has this name, or if there is no folder for a cache.
    pub fn from_environment(directory: &Path, prepare: bool) -> Result<Self, ToolchainError> {
        Ok(Self {
            road: ToolchainSource::from_environment()?,
            prepare,
            directory: directory.to_owned(),
            cache: cache::directory()?.join("toolchain"),
        })
    }
}

/// Finds a toolchain, or prepares one if the request allows that. Without that permission nothing
/// is changed.
///
/// # Errors
/// [`ToolchainError::None`] lists each source with the reason of its failure and the command to
/// type.
pub fn find(
    request: &ToolchainRequest,
    progress: &dyn BuildProgress,
) -> Result<Toolchain, ToolchainError> {
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

    /// Uses `SEGNO_WASM_TOOLCHAIN` and `SEGNO_CACHE_DIR`, so each source can be tested from an
    /// empty cache.
    #[test]
    fn a_prepared_toolchain_is_found_again_without_preparing() {
        let folder = tempfile::tempdir().unwrap();
        let request = |prepare| ToolchainRequest::from_environment(folder.path(), prepare).unwrap();
        let prepared = find(&request(true), &|message: &str| eprintln!("{message}")).unwrap();
        assert_eq!(find(&request(false), &|_: &str| ()).unwrap(), prepared);
    }
}
