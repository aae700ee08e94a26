//! Compiled code on disk, by the component's digest and the engine's configuration.
//!
//! ```text
//! DIR/CONFIGURATION/DIGEST.cwasm     mapped into memory, not read
//! DIR/CONFIGURATION/DIGEST.sha256    the hash of the former; written after it
//! ```
//!
//! A file whose hash does not fit, and one that the engine refuses, is compiled anew. The directory is part of the data
//! directory: whoever can write there owns the host anyway, so the hash guards against accidents, not against people.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use segno_core::id::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, component::Component};

/// The directory of one engine configuration.
pub(super) struct CodeCache {
    directory: PathBuf,
}

impl CodeCache {
    /// Opens the cache in `root`, making directories as needed.
    pub(super) fn open(root: &Path, configuration: &str) -> io::Result<Self> {
        let directory = root.join(configuration);
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// The compiled code of `digest`, if it is here and whole.
    pub(super) fn load(&self, engine: &Engine, digest: Digest) -> Option<Component> {
        let code = self.code(digest);
        let expected = fs::read_to_string(self.hash(digest)).ok()?;
        let found = hash_of(&fs::read(&code).ok()?);
        if expected.trim() != found {
            tracing::warn!("the compiled code of {digest} is damaged, compiling it again");
            return None;
        }
        // SAFETY: the file is byte for byte what `store` wrote under this configuration, and nothing else writes here.
        let loaded = unsafe { Component::deserialize_file(engine, &code) };
        loaded
            .inspect_err(|error| {
                tracing::warn!(
                    "the compiled code of {digest} cannot be used, compiling it again: {error:#}"
                );
            })
            .ok()
    }

    /// Keeps the compiled code of `digest`; a crash in between leaves a file whose hash does not fit.
    pub(super) fn store(&self, digest: Digest, component: &Component) -> io::Result<()> {
        let code = component.serialize().map_err(io::Error::other)?;
        write_whole(&self.code(digest), &code)?;
        write_whole(&self.hash(digest), hash_of(&code).as_bytes())
    }

    fn code(&self, digest: Digest) -> PathBuf {
        self.directory.join(format!("{digest}.cwasm"))
    }

    fn hash(&self, digest: Digest) -> PathBuf {
        self.directory.join(format!("{digest}.sha256"))
    }
}

fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces `path` at once: a reader sees the old file or the new one, and a mapping of the old one stays whole.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().expect("a file of the cache is in its directory");
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    io::Write::write_all(&mut file, bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
