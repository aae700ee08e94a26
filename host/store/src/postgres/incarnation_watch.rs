//! The incarnation watch: a host ends when another process was started under its name.
//!
//! Two processes with one node name are a mistake of the operator. The newer process took the
//! claims of the older one when it started, so nothing is lost; the older one has to end, and to
//! say why.

use std::sync::Arc;

use segno_core::{id::NodeName, time::Millis};
use sqlx::{Executor as _, Row as _};
use tokio_util::sync::CancellationToken;

use super::{PostgresStore, fields::escape};

/// The time between two looks.
const PERIOD: Millis = Millis(2_000);

const INCARNATION: &str = "SELECT incarnation FROM hosts WHERE node = $1";

impl PostgresStore {
    /// Cancels `superseded` when a life of `node` newer than `incarnation` has begun, until the
    /// store is closed.
    pub fn watch_incarnation(
        self: &Arc<Self>,
        node: NodeName,
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
                // While the database is away, no incarnation can begin.
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

    async fn newest_incarnation(&self, node: &NodeName) -> Option<u64> {
        let query = sqlx::query(INCARNATION).bind(escape(node.as_str()));
        let mut connection = self.reader.pool.acquire().await.ok()?;
        let row = connection.fetch_optional(query).await.ok()??;
        row.try_get::<i64, _>(0).ok().map(i64::cast_unsigned)
    }
}
