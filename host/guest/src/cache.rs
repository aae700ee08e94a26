//! Compiled code on disk, keyed by the component's digest and the engine's configuration.
//!
//! ```text
//! DIR/CONFIGURATION/DIGEST.cwasm     mapped into memory, not read
//! DIR/CONFIGURATION/DIGEST.sha256    the hash of the former; written after it, and touched at each
//! use
//! ```
//!
//! The image of a source module ([`ModuleImage`](super::snapshot::ModuleImage)) is kept in the same
//! way, in a directory of its own.
//!
//! Code with a wrong hash, or that the engine rejects, is compiled again. The cache is part of the
//! data directory: anyone who can write there controls the host anyway, so the hash protects
//! against accidents, not against attacks.
//!
//! All code can be recompiled, so the size is bounded: the least recently used files of any
//! configuration are removed. Several engines and processes may share a directory: files are
//! written under a temporary name and then renamed, and the compiler is deterministic, so any
//! process may write a file. A crash may leave a temporary file; opening a cache removes those
//! older than an hour.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use segno_core::id::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use wasmtime::{Engine, component::Component};

const CODE: &str = "cwasm";
const HASH: &str = "sha256";
/// The unit in which the system counts the room that a file takes, in bytes.
const BLOCK_BYTES: u64 = 512;
/// Age after which no process can still be writing a temporary file: compiling takes minutes at
/// most.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// The cache directory of one engine configuration.
pub(super) struct CodeCache {
    root: PathBuf,
    directory: PathBuf,
    /// Maximum size of all configurations together, in bytes.
    limit: u64,
    /// Locked while files are added or removed.
    changing: Mutex<()>,
}

/// A file that contains compiled code.
struct CachedCode {
    code: PathBuf,
    bytes: u64,
    last_use: SystemTime,
}

impl CodeCache {
    /// Opens the cache in `root`, creating directories as needed.
    pub(super) fn open(root: &Path, configuration: &str, limit: u64) -> io::Result<Self> {
        let directory = root.join(configuration);
        fs::create_dir_all(&directory)?;
        let root = root.to_owned();
        let cache = Self { root, directory, limit, changing: Mutex::default() };
        remove_unfinished(&cache.root);
        cache.keep_within_limit(None);
        Ok(cache)
    }

    /// Loads the compiled code of `digest`. `None` if it is missing or damaged.
    pub(super) fn load(&self, engine: &Engine, digest: Digest) -> Option<Component> {
        self.open_file(digest)?;
        self.map(engine, digest)
            .inspect_err(|error| {
                tracing::warn!(
                    "the compiled code of {digest} cannot be used, compiling it again: {error:#}"
                );
            })
            .ok()
    }

    /// Opens the file of `digest`, whose bytes are those that were stored. `None` if it is missing
    /// or damaged.
    pub(super) fn open_file(&self, digest: Digest) -> Option<fs::File> {
        let expected = fs::read_to_string(self.hash(digest)).ok()?;
        let mut file = fs::File::open(self.code(digest)).ok()?;
        if expected.trim() != hash_of(&mut file).ok()? {
            tracing::warn!("what was kept of {digest} is damaged, making it again");
            return None;
        }
        self.touch(digest);
        Some(file)
    }

    /// Maps the compiled code of `digest`, which was just verified or compiled.
    pub(super) fn map(&self, engine: &Engine, digest: Digest) -> wasmtime::Result<Component> {
        // SAFETY: the file is byte for byte the compiler's output under this configuration, and
        // nothing else writes here.
        unsafe { Component::deserialize_file(engine, self.code(digest)) }
    }

    /// Creates a temporary file for new code; it is deleted unless adopted. Creates the directory if
    /// it was deleted meanwhile.
    pub(super) fn place(&self) -> io::Result<NamedTempFile> {
        fs::create_dir_all(&self.directory)?;
        NamedTempFile::new_in(&self.directory)
    }

    /// Stores the compiled code of `digest`. A crash in between leaves a file with a wrong hash.
    pub(super) fn store(&self, digest: Digest, component: &Component) -> io::Result<()> {
        let code = component.serialize().map_err(io::Error::other)?;
        let mut file = self.place()?;
        io::Write::write_all(&mut file, &code)?;
        self.adopt(digest, file)
    }

    /// Stores code that is already in `file`. A reader sees the old file or the new one, and a
    /// mapping of the old one stays valid.
    pub(super) fn adopt(&self, digest: Digest, file: NamedTempFile) -> io::Result<()> {
        let hash = hash_of(&mut fs::File::open(file.path())?)?;
        file.persist(self.code(digest)).map_err(|error| error.error)?;
        let mut file = self.place()?;
        io::Write::write_all(&mut file, hash.as_bytes())?;
        file.persist(self.hash(digest)).map_err(|error| error.error)?;
        self.keep_within_limit(Some(digest));
        Ok(())
    }

    /// Removes the code of `digest`. Existing mappings stay valid.
    pub(super) fn remove(&self, digest: Digest) {
        remove(&self.code(digest));
    }

    fn touch(&self, digest: Digest) {
        if let Err(error) = touch(&self.hash(digest)) {
            tracing::debug!(
                "the compiled code of {digest} seems to be used less than it is: {error}"
            );
        }
    }

    /// Removes the least recently used code, except `latest`, until the rest is within the limit.
    fn keep_within_limit(&self, latest: Option<Digest>) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = self.kept();
        let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
        kept.sort_by_key(|kept| kept.last_use);
        let latest = latest.map(|digest| self.code(digest));
        for CachedCode { code, bytes: its_bytes, .. } in kept {
            if bytes <= self.limit {
                return;
            }
            if latest.as_ref() != Some(&code) {
                remove(&code);
                bytes -= its_bytes;
            }
        }
    }

    fn kept(&self) -> Vec<CachedCode> {
        let code = files(&self.root).into_iter().filter(|path| has_extension(path, CODE));
        let kept = code.filter_map(|code| {
            // An image has holes.
            let bytes = fs::metadata(&code).ok()?.blocks() * BLOCK_BYTES;
            // Code without a hash is useless.
            let hash = fs::metadata(code.with_extension(HASH));
            let last_use = hash.and_then(|hash| hash.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            Some(CachedCode { code, bytes, last_use })
        });
        kept.collect()
    }

    fn code(&self, digest: Digest) -> PathBuf {
        self.directory.join(format!("{digest}.{CODE}"))
    }

    fn hash(&self, digest: Digest) -> PathBuf {
        self.code(digest).with_extension(HASH)
    }
}

/// Removes temporary files that a crash left in `root`.
fn remove_unfinished(root: &Path) {
    let is_abandoned = |path: &Path| {
        let age = fs::metadata(path).and_then(|file| file.modified()).map(|time| time.elapsed());
        matches!(age, Ok(Ok(age)) if age > ABANDONED)
    };
    for path in files(root) {
        if !has_extension(&path, CODE) && !has_extension(&path, HASH) && is_abandoned(&path) {
            // Another process that shares the directory may have removed the file already.
            let _ = fs::remove_file(&path);
        }
    }
}

/// The files of all configurations in `root`.
fn files(root: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let directories = entries(root).map(|entry| entry.path()).filter(|path| path.is_dir());
    let files = directories
        .flat_map(|directory| entries(&directory).map(|entry| entry.path()).collect::<Vec<_>>());
    files.filter(|path| path.is_file()).collect()
}

/// Marks a file as just used.
pub(super) fn touch(path: &Path) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(futimens(fs::File::options().append(true).open(path)?, &times)?)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Removes code and its hash, the hash first: code without a hash is never used.
fn remove(code: &Path) {
    for path in [code.with_extension(HASH), code.to_owned()] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("compiled code `{}` cannot be removed: {error}", path.display());
            }
            _ => {}
        }
    }
}

fn hash_of(file: &mut fs::File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = io::Read::read(file, &mut buffer)?;
        if read == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hash.update(&buffer[..read]);
    }
}
