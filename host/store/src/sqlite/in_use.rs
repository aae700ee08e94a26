//! The in-use mark: a file that shows that a database has a write-ahead log.
//!
//! SQLite removes the log when the last writing connection closes. After that, a log that was
//! checkpointed cannot be distinguished from a lost one. The mark is therefore created once the log
//! exists, and removed after the log is gone in good order: a mark without a log means that the log
//! was lost. This costs one sync per start, and none per commit.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::log_check::{beside, log_of};

/// The id that the system generates at each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The content of an in-use mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InUseMark {
    /// The boot id at the time of creation; `None` if the system provides none.
    boot: Option<String>,
}

impl InUseMark {
    /// Reads the mark of a database, if it has one.
    pub(super) fn of(database: &Path) -> Option<Self> {
        let text = fs::read_to_string(file(database)).ok()?;
        let boot = text.trim();
        Some(Self { boot: (!boot.is_empty()).then(|| boot.to_owned()) })
    }

    /// True if the machine has not rebooted since: even files that were never synced are then
    /// intact.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// Creates the mark of a database whose log exists.
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

/// Removes the mark if the log is gone in good order.
pub(super) fn clear(database: &Path) {
    let is_empty = fs::metadata(log_of(database)).map_or(true, |log| log.len() == 0);
    if is_empty {
        // The mark may not exist. A mark left behind causes a warning at most.
        let _ = fs::remove_file(file(database));
    }
}

fn file(database: &Path) -> PathBuf {
    beside(database, "-in-use")
}

fn boot() -> Option<String> {
    fs::read_to_string(BOOT_ID).ok().map(|boot| boot.trim().to_owned())
}
