//! Transfer of rows from a reader to a query, and limits on the rows that a query examines.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{row::TableRow, table::QueryTable, wanted::WantedRows};
use crate::front::error::{AdminError, AdminResult};

/// Maximum number of rows examined for one query. Lower in tests, which would have to create them.
pub(super) const LOOKED_AT: usize = if cfg!(test) { 2_000 } else { 100_000 };
/// Maximum total size of the values read for one query, in bytes.
const BYTES: usize = 64 << 20;

/// Reads the rows of tables.
pub(super) trait TableReader: Send + Sync + 'static {
    /// Reads the rows of a table that match `wanted`, in the table's order, and possibly others.
    fn read(
        &self,
        table: QueryTable,
        wanted: WantedRows,
        rows: RowSender,
    ) -> BoxFuture<'static, AdminResult<()>>;
}

/// Number of rows and bytes used by one query.
#[derive(Debug, Default)]
pub(super) struct QueryUsage {
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

/// Accepts the rows of a table from its reader. A reader waits until the query has room for its
/// row.
pub(super) struct RowSender {
    table: QueryTable,
    spent: Arc<QueryUsage>,
    to: mpsc::Sender<TableRow>,
}

impl RowSender {
    /// Creates a channel with room for `room` rows, and returns both ends.
    pub(super) fn new(
        table: QueryTable,
        spent: Arc<QueryUsage>,
        room: usize,
    ) -> (Self, mpsc::Receiver<TableRow>) {
        let (to, from) = mpsc::channel(room);
        (Self { table, spent, to }, from)
    }

    /// Sends a row to the query.
    ///
    /// # Errors
    /// The values exceed the limit in bytes.
    pub(super) async fn offer(&self, row: TableRow) -> AdminResult<()> {
        self.weighs(row.weight())?;
        // A query that has its answer drops the receiver and this reader.
        self.to.send(row).await.ok();
        Ok(())
    }

    /// Counts examined rows.
    ///
    /// # Errors
    /// The rows exceed the limit for one query.
    pub(super) fn looked_at(&self, rows: usize) -> AdminResult<()> {
        if self.spent.rows.fetch_add(rows, Ordering::Relaxed) + rows <= LOOKED_AT {
            return Ok(());
        }
        let message = format!(
            "more than {LOOKED_AT} rows of `{}` would have to be looked at: narrow the query by an id, a service and a key or a status, \
             or use LIMIT, without ORDER BY of something else than created_at DESC, GROUP BY and functions",
            self.table.name()
        );
        Err(AdminError::new(400, message))
    }

    /// Counts bytes of values read.
    ///
    /// # Errors
    /// The bytes exceed the limit for one query.
    pub(super) fn weighs(&self, bytes: usize) -> AdminResult<()> {
        if self.spent.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= BYTES {
            return Ok(());
        }
        let message = format!(
            "the values in `{}` are larger than the {BYTES} bytes that one query reads: select other columns, or fewer rows",
            self.table.name()
        );
        Err(AdminError::new(400, message))
    }
}
