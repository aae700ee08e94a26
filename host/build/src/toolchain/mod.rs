//! A compiler for `wasm32-unknown-unknown`: found if there is one, installed if that is allowed.
//!
//! There are four [`ToolchainSource`]s. The `search` first looks for one that is ready, in order;
//! if there is none and preparing is allowed, it prepares one, in the same order. Each source that
//! fails gives a reason, and the next is tried. A prepared toolchain is kept in the cache
//! completely or not at all: folders are created under another name and moved into place.

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
pub use search::{Attempt, ToolchainError};
pub use source::ToolchainSource;

use super::{Progress, cache, cargo};
use search::{Strategy, choose};

/// The parameters of a search.
#[derive(Debug, Clone)]
pub struct ToolchainRequest {
    /// Search this source only.
    pub road: Option<ToolchainSource>,
    /// Whether anything may be downloaded, built or installed.
    pub prepare: bool,
    /// The folder for which a compiler is wanted: a `rust-toolchain.toml` there applies.
    pub directory: PathBuf,
    /// The folder of prepared toolchains.
    pub cache: PathBuf,
}

impl ToolchainRequest {
    /// The request of the environment: `SEGNO_WASM_TOOLCHAIN` names the source, `SEGNO_CACHE_DIR`
    /// the cache.
    ///
    /// # Errors
    /// There is no source with this name, or no folder for a cache.
    pub fn from_environment(directory: &Path, prepare: bool) -> Result<Self, ToolchainError> {
        Ok(Self {
            road: ToolchainSource::from_environment()?,
            prepare,
            directory: directory.to_owned(),
            cache: cache::directory()?.join("toolchain"),
        })
    }
}

/// Finds a toolchain, or prepares one if the request allows that. Otherwise nothing is changed.
///
/// # Errors
/// [`ToolchainError::None`] lists each source with the reason of its failure, and the command to
/// type.
pub fn find(
    request: &ToolchainRequest,
    progress: &dyn Progress,
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
