//! Snapshots on disk.
//!
//! ```text
//! DIR/snapshots/CONFIGURATION/HASH.snapshot    HASH: of the execution's id and its module
//! ```
//!
//! A file consists of a hash and the compressed state. A file that is damaged, or whose execution
//! has since diverged from it, is removed: a snapshot can be made again from the journal, which
//! contains everything. For the same reason the size is bounded: the least recently used snapshots
//! are removed.

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
/// Size of the hash at the start of a file, in bytes.
const HASH_BYTES: usize = 32;

/// The key of a snapshot: execution and module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotKey {
    pub id: PromiseId,
    pub module: Digest,
}

/// The thresholds for making and keeping snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPolicy {
    /// Number of records after which a snapshot is made.
    pub records: u32,
    /// Maximum size of all snapshots together, in bytes on disk.
    pub bytes: u64,
}

impl SnapshotPolicy {
    /// Returns true if a snapshot is due at `len` records after the last one at `last`: when the
    /// journal has grown by [`records`](Self::records), and by a quarter. All snapshots of a
    /// journal together then cost a few replays, however long it gets.
    pub fn is_due(self, len: u32, last: u32) -> bool {
        self.records > 0 && len.saturating_sub(last) >= self.records.max(last / 4)
    }

    /// Maximum memory size of a snapshotted instance, in bytes: a larger one would evict all
    /// others, and is held three times during the comparison.
    pub fn instance_bytes(self) -> usize {
        usize::try_from(self.bytes / 4).unwrap_or(usize::MAX)
    }
}

/// The snapshots of one host, at most one for each execution and module.
pub struct SnapshotFiles {
    directory: PathBuf,
    /// The thresholds for making and keeping snapshots.
    pub policy: SnapshotPolicy,
    /// Locked while files are added or removed.
    changing: Mutex<()>,
}

impl SnapshotFiles {
    /// Opens the folder in `root` for an engine of this `configuration`. Removes snapshots of other
    /// configurations, which nothing reads.
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
            // Left incomplete by a crash.
            if entry.path().extension().is_none_or(|found| found != EXTENSION) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Self { directory, policy, changing: Mutex::default() })
    }

    /// Loads the snapshot of `key`. `None` if it is missing or damaged. Reads the disk.
    pub fn load(&self, key: &SnapshotKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        let kept = fs::read(&path).ok()?;
        let whole = kept.split_at_checked(HASH_BYTES).and_then(|(hash, compressed)| {
            let is_whole = Sha256::digest(compressed).as_slice() == hash;
            is_whole.then(|| decompress_size_prepended(compressed).ok()).flatten()
        });
        if whole.is_some() {
            // If this fails, the file seems less recently used and is evicted earlier.
            let _ = touch(&path);
        } else {
            tracing::warn!("the snapshot of `{}` is damaged, and removed", key.id);
            self.remove(key);
        }
        whole
    }

    /// Stores `bytes` as the snapshot of `key`, replacing an earlier one.
    ///
    /// # Errors
    /// The disk rejected the write.
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

    /// Returns true if a snapshot of `key` is stored.
    pub fn holds(&self, key: &SnapshotKey) -> bool {
        self.path(key).exists()
    }

    /// Removes the snapshot of `key`.
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
