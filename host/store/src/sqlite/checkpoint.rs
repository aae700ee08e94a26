//! Carries the write-ahead log over into the database, beside the writer.
//!
//! A passive checkpoint takes no lock that the writer or a reader would wait for; it copies what it
//! can.

use std::sync::Weak;

use segno_core::time::Millis;
use segno_env::Env;
use sqlx::{Connection as _, Executor as _};
use tokio::sync::watch;

use super::{open::DataDirectory, writer::Written};

/// How long commits gather before they are carried over.
const PAUSE: Millis = Millis(2_000);

/// Runs until the writer drops its end of `commits`, which counts them.
pub(super) async fn run(
    directory: Weak<DataDirectory>,
    env: Env,
    mut commits: watch::Receiver<Written>,
) {
    let mut connection = None;
    while commits.changed().await.is_ok() {
        env.runtime.sleep(PAUSE).await;
        commits.mark_unchanged();
        // The directory goes with the writer, and with it our right to touch it.
        let Some(directory) = directory.upgrade() else { break };
        if connection.is_none() {
            connection = directory.connect().await.ok();
        }
        let Some(open) = connection.as_mut() else { continue };
        if let Err(error) = open.execute("PRAGMA wal_checkpoint(PASSIVE)").await {
            // The writer's own checkpoint remains; it comes at 16,000 pages.
            tracing::warn!(%error, "a checkpoint failed");
            connection = None;
        }
    }
    if let Some(connection) = connection {
        let _ = connection.close().await;
    }
}
