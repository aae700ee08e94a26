//! The mark of a data directory whose database has a write-ahead log of its own.
//!
//! SQLite removes the log when the last connection that may write ends, and after that nothing
//! tells a log that was carried over from one that got lost. So the mark is made once the log is
//! there, and removed once it is gone in good order: a mark without a log means that the log was
//! taken away. It costs one sync a start, and none a commit.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::log_check::{beside, log_of};

/// The number that the system gives each of its starts.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What a mark says of the process that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InUseMark {
    /// The start of the system in which it ran; `None` where the system does not number them.
    boot: Option<String>,
}

impl InUseMark {
    /// The mark of a database, if it has one.
    pub(super) fn of(database: &Path) -> Option<Self> {
        let text = fs::read_to_string(file(database)).ok()?;
        let boot = text.trim();
        Some(Self { boot: (!boot.is_empty()).then(|| boot.to_owned()) })
    }

    /// Whether the machine ran on since: files that were never synced are then as they were.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// Marks a database whose log is there.
pub(super) fn set(database: &Path, sync: bool) -> io::Result<()> {
    let path = file(database);
    let mut mark = File::create(&path)?;
    writeln!(mark, "{}", boot().unwrap_or_default())?;
    if sync {
        mark.sync_all()?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
    }
    Ok(())
}

/// Removes the mark, if the log is gone in good order.
pub(super) fn clear(database: &Path) {
    let is_empty = fs::metadata(log_of(database)).map_or(true, |log| log.len() == 0);
    if is_empty {
        // There may be none. One that stays leads to a warning at most.
        let _ = fs::remove_file(file(database));
    }
}

fn file(database: &Path) -> PathBuf {
    beside(database, "-in-use")
}

fn boot() -> Option<String> {
    fs::read_to_string(BOOT_ID).ok().map(|boot| boot.trim().to_owned())
}
