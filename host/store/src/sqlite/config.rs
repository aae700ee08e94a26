//! Settings of a SQLite database.

use std::path::PathBuf;

/// Location and durability of the database.
#[derive(Debug, Clone)]
pub struct SqliteConfig {
    /// The data directory; created if it is missing.
    pub dir: PathBuf,
    /// True if a power loss may lose the last commits (`synchronous = NORMAL`); a crash of the
    /// process never does. Commits are about ten times cheaper.
    pub relaxed: bool,
}

impl SqliteConfig {
    /// A configuration for a directory, with commits that survive a power loss.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), relaxed: false }
    }
}
