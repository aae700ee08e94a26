//! Where a database lies, and how safely it commits.

use std::path::PathBuf;

/// Where the database lies and how safely it commits.
#[derive(Debug, Clone)]
pub struct SqliteConfig {
    /// The data directory; made if it is missing.
    pub dir: PathBuf,
    /// Whether a power loss may take the last commits with it (`synchronous = NORMAL`). A crash of
    /// the process never does. Commits are about ten times cheaper.
    pub relaxed: bool,
}

impl SqliteConfig {
    /// A directory, with commits that survive a power loss.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), relaxed: false }
    }
}
