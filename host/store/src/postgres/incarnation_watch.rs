//! The incarnation watch: a host shuts down when another process starts under its name.
//!
//! Two processes with one node name are an operator's mistake. The newer process took over the
//! claims of the older one when it started, so nothing is lost; the older process must end and
//! report the reason.

use std::sync::Arc;

use segno_core::{id::HostName, time::Millis};
use sqlx::{Executor as _, Row as _};
use tokio_util::sync::CancellationToken;

use super::{PostgresStore, fields::escape, statement::query};

/// Interval between two checks.
const PERIOD: Millis = Millis(2_000);

const INCARNATION: &str = "SELECT incarnation FROM hosts WHERE node = $1";

impl PostgresStore {
    /// Cancels `superseded` when an incarnation of `node` newer than `incarnation` has started.
    /// Runs until the store is closed.
    pub fn watch_incarnation(
        self: &Arc<Self>,
        node: HostName,
        incarnation: u64,
        superseded: CancellationToken,
    ) {
        let store = self.clone();
        let watch = async move {
            loop {
                tokio::select! {
                    biased;
                    () = store.closed.cancelled() => return,
                    () = store.shared.env.runtime.sleep(PERIOD) => {}
                }
                // While the database is unavailable, no incarnation can start.
                let Some(newest) = store.newest_incarnation(&node).await else { continue };
                if newest > incarnation {
                    tracing::error!(
                        %node, incarnation, newest,
                        "another host was started under this one's name: this one ends; give each a name of its own \
                         with --node"
                    );
                    superseded.cancel();
                    return;
                }
            }
        };
        self.shared.env.runtime.spawn("store life", Box::pin(watch));
    }

    async fn newest_incarnation(&self, node: &HostName) -> Option<u64> {
        let mut connection = self.reader.pool.acquire().await.ok()?;
        let query = query(&connection, INCARNATION).bind(escape(node.as_str()));
        let row = connection.fetch_optional(query).await.ok()?;
        connection.finish().await.ok()?;
        let row = row?;
        row.try_get::<i64, _>(0).ok().map(i64::cast_unsigned)
    }
}
