//! Snapshots on disk.
//!
//! ```text
//! DIR/snapshots/CONFIGURATION/HASH.snapshot    HASH: of the execution's id and its module
//! ```
//!
//! A file is its own hash, and then what was kept, compressed. One that is damaged, or whose
//! execution has gone another way since, is removed: a snapshot is made from a journal, which has
//! all that it has. So the size is bounded as well: those that were used least recently go first.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};
use segno_core::id::{Digest, PromiseId};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::cache::touch;

const EXTENSION: &str = "snapshot";
/// Bytes of the hash with which a file begins.
const HASH_BYTES: usize = 32;

/// What a snapshot is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotKey {
    /// The execution.
    pub id: PromiseId,
    /// The module that runs it.
    pub module: Digest,
}

/// When snapshots are made, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPolicy {
    /// Number of records after which one is made.
    pub records: u32,
    /// Maximum size of all together, in bytes on disk.
    pub bytes: u64,
}

impl SnapshotPolicy {
    /// Whether a snapshot is due at `len` records, if the last one was made at `last`: when the journal
    /// has grown by [`records`](Self::records), and by a quarter. So all snapshots of a journal together
    /// cost a few replays of it, however long it gets.
    pub fn is_due(self, len: u32, last: u32) -> bool {
        self.records > 0 && len.saturating_sub(last) >= self.records.max(last / 4)
    }

    /// Maximum size of the memory of one instance, in bytes: what is larger would push out all
    /// others, and is held three times while it is compared.
    pub fn instance_bytes(self) -> usize {
        usize::try_from(self.bytes / 4).unwrap_or(usize::MAX)
    }
}

/// The snapshots of one host, at most one of each execution and module.
pub struct SnapshotFiles {
    directory: PathBuf,
    /// When they are made, and how many are kept.
    pub policy: SnapshotPolicy,
    /// Held while files are added or removed.
    changing: Mutex<()>,
}

impl SnapshotFiles {
    /// Opens the folder in `root` for an engine of this `configuration`; snapshots of others are
    /// removed, since nothing reads them.
    pub(crate) fn open(
        root: &Path,
        configuration: &str,
        policy: SnapshotPolicy,
    ) -> io::Result<Self> {
        let all = root.join("snapshots");
        let directory = all.join(configuration);
        fs::create_dir_all(&directory)?;
        for entry in fs::read_dir(&all)?.flatten() {
            if entry.path() != directory {
                fs::remove_dir_all(entry.path())?;
            }
        }
        for entry in fs::read_dir(&directory)?.flatten() {
            // What a crash left incomplete.
            if entry.path().extension().is_none_or(|found| found != EXTENSION) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Self { directory, policy, changing: Mutex::default() })
    }

    /// What is kept of `key`, if anything is, and is whole. Touches the disk.
    pub fn load(&self, key: &SnapshotKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        let kept = fs::read(&path).ok()?;
        let whole = kept.split_at_checked(HASH_BYTES).and_then(|(hash, compressed)| {
            let is_whole = Sha256::digest(compressed).as_slice() == hash;
            is_whole.then(|| decompress_size_prepended(compressed).ok()).flatten()
        });
        if whole.is_some() {
            // One that seems to be used less than it is goes earlier.
            let _ = touch(&path);
        } else {
            tracing::warn!("the snapshot of `{}` is damaged, and removed", key.id);
            self.remove(key);
        }
        whole
    }

    /// Keeps `bytes` of `key`, in the place of what was kept before.
    ///
    /// # Errors
    /// The disk refused.
    pub fn store(&self, key: &SnapshotKey, bytes: &[u8]) -> io::Result<()> {
        let compressed = compress_prepend_size(bytes);
        let mut file = NamedTempFile::new_in(&self.directory)?;
        io::Write::write_all(&mut file, &Sha256::digest(&compressed))?;
        io::Write::write_all(&mut file, &compressed)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        file.persist(self.path(key)).map_err(|error| error.error)?;
        self.keep_within_limit(&self.path(key));
        Ok(())
    }

    /// Whether something is kept of `key`.
    pub fn holds(&self, key: &SnapshotKey) -> bool {
        self.path(key).exists()
    }

    /// Removes what is kept of `key`.
    pub fn remove(&self, key: &SnapshotKey) {
        remove(&self.path(key));
    }

    fn keep_within_limit(&self, latest: &Path) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, len, _)| len).sum();
        for (_, len, path) in kept {
            if bytes <= self.policy.bytes {
                return;
            }
            if path != latest {
                remove(&path);
                bytes -= len;
            }
        }
    }

    fn path(&self, key: &SnapshotKey) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(key.module.0);
        hash.update(key.id.as_str());
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name).with_extension(EXTENSION)
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("the snapshot `{}` cannot be removed: {error}", path.display());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(bytes: u64) -> SnapshotPolicy {
        SnapshotPolicy { records: 1_000, bytes }
    }

    #[test]
    fn a_long_journal_is_repeated_for_its_snapshots_a_few_times_in_all() {
        let policy = policy(1);
        let (mut last, mut repeated, mut longest_tail) = (0, 0_u64, 0.0_f64);
        for len in 1..1_000_000 {
            longest_tail = longest_tail.max(f64::from(len - last) / f64::from(len.max(5_000)));
            if policy.is_due(len, last) {
                (last, repeated) = (len, repeated + u64::from(len));
            }
        }
        assert!(repeated < 6_000_000, "{repeated}");
        assert!(longest_tail <= 0.21, "{longest_tail}");
        assert!(!SnapshotPolicy { records: 0, ..policy }.is_due(u32::MAX, 0));
    }

    fn key(id: &str) -> SnapshotKey {
        SnapshotKey { id: PromiseId::from(id), module: Digest([1; 32]) }
    }

    #[test]
    fn what_is_kept_is_read_until_one_byte_of_it_differs() {
        let root = tempfile::tempdir().expect("a folder");
        let files = SnapshotFiles::open(root.path(), "a", policy(1 << 20)).expect("it is writable");
        files.store(&key("x"), b"memory memory memory").expect("it is kept");
        assert_eq!(files.load(&key("x")).as_deref(), Some(&b"memory memory memory"[..]));
        assert_eq!(files.load(&key("y")), None);
        let path = files.path(&key("x"));
        let whole = fs::read(&path).expect("a file");
        for n in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[n] ^= 1;
            fs::write(&path, bytes).expect("it is writable");
            assert_eq!(files.load(&key("x")), None, "byte {n}");
            assert!(!path.exists(), "it is removed");
        }
    }

    #[test]
    fn those_of_another_engine_and_the_oldest_beyond_the_limit_are_removed() {
        let root = tempfile::tempdir().expect("a folder");
        let files = SnapshotFiles::open(root.path(), "a", policy(100)).expect("it is writable");
        for id in ["x", "y", "z"] {
            files.store(&key(id), &[id.as_bytes()[0]; 4]).expect("it is kept");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let held = ["x", "y", "z"].map(|id| files.holds(&key(id)));
        assert_eq!(held, [false, true, true]);
        fs::write(files.directory.join("half"), "written").expect("it is writable");
        let again = SnapshotFiles::open(root.path(), "a", policy(100)).expect("it is writable");
        assert!(again.holds(&key("z")) && !again.directory.join("half").exists());
        let other = SnapshotFiles::open(root.path(), "b", policy(100)).expect("it is writable");
        assert!(!other.holds(&key("z")) && !again.holds(&key("z")));
    }
}
