//! Copies the write-ahead log into the database, concurrently with the writer.
//!
//! A passive checkpoint takes no lock that the writer or a reader would wait for; it copies as much
//! as it can.

use std::sync::{Arc, Weak};

use segno_core::time::Millis;
use segno_env::Env;
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tokio::sync::watch;

use super::{open::DataDirectory, writer::WriteTotals};

/// Interval between checkpoints while commits arrive.
const PAUSE: Millis = Millis(2_000);

/// Runs until the writer drops the sender of `commits`, which counts the commits.
pub(super) async fn run(
    directory: Weak<DataDirectory>,
    env: Env,
    mut commits: watch::Receiver<WriteTotals>,
) {
    // While the connection is open, it must hold the directory.
    let mut held: Option<(SqliteConnection, Arc<DataDirectory>)> = None;
    while commits.changed().await.is_ok() {
        let ended = async { while commits.changed().await.is_ok() {} };
        tokio::select! {
            biased;
            () = ended => break,
            () = env.runtime.sleep(PAUSE) => {}
        }
        if held.is_none() {
            // The directory is released when the writer ends.
            let Some(directory) = directory.upgrade() else { break };
            held = directory.connect().await.ok().map(|connection| (connection, directory));
        }
        let Some((open, _)) = held.as_mut() else { continue };
        if let Err(error) = open.execute("PRAGMA wal_checkpoint(PASSIVE)").await {
            // The writer's own checkpoint at 16,000 pages remains as a fallback.
            tracing::warn!(%error, "a checkpoint failed");
            held = None;
        }
    }
    if let Some((connection, _directory)) = held {
        let _ = connection.close().await;
    }
}
