//! Runtimes in the cache: components that run the sources of modules in a language.
//!
//! ```text
//! CACHE/runtimes/{language}-{key}    the digest of the runtime that these tools build
//! CACHE/runtimes/{digest}.wasm       the runtime; always complete, since it is moved into place
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use segno_core::id::Digest;

use super::{ScriptError, failed};
use crate::{BuildProgress, CacheError, Language, cache};

/// The bytes of a runtime that this machine has built or fetched. `None` if it has not.
///
/// # Errors
/// The cache cannot be used.
pub fn cached(runtime: Digest) -> Result<Option<Vec<u8>>, CacheError> {
    let path = component(&folder()?, runtime);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes).filter(|bytes| Digest::of(bytes) == runtime)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CacheError::Io { path, source }),
    }
}

/// The digest of the runtime that the tools and sources named by `key` build. `build` writes it to
/// a path if the cache does not have it.
pub(super) fn in_cache(
    language: Language,
    key: &str,
    progress: &dyn BuildProgress,
    build: impl FnOnce(&Path) -> Result<(), ScriptError>,
) -> Result<Digest, ScriptError> {
    let folder = folder()?;
    let name = folder.join(format!("{}-{key}", language.name()));
    if let Some(digest) = known(&folder, &name) {
        return Ok(digest);
    }
    let _lock = cache::Lock::take(&name.with_extension("lock"), progress)?;
    if let Some(digest) = known(&folder, &name) {
        return Ok(digest);
    }
    let unfinished = name.with_extension("unfinished");
    build(&unfinished)?;
    let bytes = fs::read(&unfinished).map_err(failed(&unfinished))?;
    let digest = Digest::of(&bytes);
    fs::rename(&unfinished, component(&folder, digest)).map_err(failed(&unfinished))?;
    fs::write(&name, digest.to_string()).map_err(failed(&name))?;
    Ok(digest)
}

fn folder() -> Result<PathBuf, CacheError> {
    Ok(cache::directory()?.join("runtimes"))
}

fn component(folder: &Path, runtime: Digest) -> PathBuf {
    folder.join(format!("{runtime}.wasm"))
}

fn known(folder: &Path, name: &Path) -> Option<Digest> {
    let digest = fs::read_to_string(name).ok()?.trim().parse().ok()?;
    component(folder, digest).is_file().then_some(digest)
}
