//! The cache folder, which keeps prepared toolchains between runs, and the lock that serialises
//! concurrent runs.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use fs4::{FileExt, TryLockError};

use super::BuildProgress;

/// Reason why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no folder for the cache.
    #[error("there is no home directory to keep a cache in; set `SEGNO_CACHE_DIR`")]
    NoHome,
    /// The file system failed.
    #[error("the cache `{path}` cannot be used")]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The folder for reproducible files: `$SEGNO_CACHE_DIR`, otherwise `segno` in the user's cache
/// folder. It need not exist.
///
/// # Errors
/// [`CacheError::NoHome`].
pub fn directory() -> Result<PathBuf, CacheError> {
    let user = etcetera::choose_base_strategy().ok().map(|strategy| strategy.cache_dir());
    place(env::var_os("SEGNO_CACHE_DIR"), user).ok_or(CacheError::NoHome)
}

fn place(named: Option<OsString>, user: Option<PathBuf>) -> Option<PathBuf> {
    match named.filter(|path| !path.is_empty()) {
        // Tools run in other folders, so the path must be absolute.
        Some(path) => Some(std::path::absolute(&path).unwrap_or_else(|_| path.into())),
        None => user.map(|folder| folder.join("segno")),
    }
}

/// A lock held while a toolchain is prepared; released when dropped, or by the system when the
/// process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock on `path`, creating its folder. If another process holds it, reports that
    /// once and waits.
    pub(crate) fn take(path: &Path, progress: &dyn BuildProgress) -> Result<Self, CacheError> {
        let failed = |source| CacheError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let file =
            File::options().create(true).write(true).truncate(false).open(path).map_err(failed)?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress
                    .step(&format!("waiting for another process that holds {}", path.display()));
                FileExt::lock(&file).map_err(failed)?;
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Mutex,
            atomic::{AtomicBool, Ordering},
        },
        thread,
        time::Duration,
    };

    use super::*;

    #[test]
    fn the_named_folder_wins_and_an_empty_name_is_none() {
        let user = || Some(PathBuf::from("/home/ada/.cache"));
        assert_eq!(place(Some("/named".into()), user()), Some("/named".into()));
        assert_eq!(place(Some("".into()), user()), Some("/home/ada/.cache/segno".into()));
        assert_eq!(place(None, user()), Some("/home/ada/.cache/segno".into()));
        assert_eq!(place(None, None), None);
    }

    #[test]
    fn the_second_taker_says_that_it_waits_and_then_gets_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/lock");
        let first = Lock::take(&path, &|_: &str| ()).unwrap();
        let released = AtomicBool::new(false);
        let said = Mutex::new(String::new());
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let lock =
                    Lock::take(&path, &|message: &str| *said.lock().unwrap() = message.to_owned());
                assert!(released.load(Ordering::SeqCst), "taken while it was held");
                lock.map(drop)
            });
            while said.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            released.store(true, Ordering::SeqCst);
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert!(said.lock().unwrap().contains("waiting"));
    }
}
