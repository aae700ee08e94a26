//! The host that had a data directory before. The system keeps the lock of a killed process until it
//! has freed the memory of the process.

use std::path::Path;

use segno_core::time::Millis;
use segno_env::{Runtime as _, SystemRuntime};
use segno_store::sqlite::{SqliteOpenError, user_of};

/// Maximum wait for the end of another process, and pause between two looks.
const PATIENCE: Millis = Millis(2_000);
const PAUSE: Millis = Millis(50);

/// Waits for a short time until no other process has locked the directory.
///
/// # Errors
/// A process still has it, which the error names.
pub(super) async fn ended(directory: &Path) -> Result<(), SqliteOpenError> {
    let mut waited = Millis::ZERO;
    while let Some(used) = user_of(directory) {
        if waited >= PATIENCE {
            return Err(used);
        }
        SystemRuntime.sleep(PAUSE).await;
        waited.0 += PAUSE.0;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[tokio::test]
    async fn a_host_that_ends_now_is_waited_for_and_one_that_runs_is_named() {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        assert!(ended(folder.path()).await.is_ok(), "there was none");
        let path = folder.path().join("segno.lock");
        std::fs::write(&path, "4711\n").expect("it is writable");
        let lock = File::open(path).expect("it is there");
        lock.lock().expect("nobody has it");
        let running = ended(folder.path()).await.expect_err("it runs").to_string();
        assert!(running.contains("is in use by process 4711"), "{running}");
        let (waited, ()) = tokio::join!(ended(folder.path()), async {
            SystemRuntime.sleep(Millis(PAUSE.0 * 3)).await;
            drop(lock);
        });
        assert!(waited.is_ok(), "it has ended");
    }
}
