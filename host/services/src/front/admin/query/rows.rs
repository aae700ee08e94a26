//! The way of rows from a reader to a query, and how many a query may look at.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{row::Row, tables::Table, wanted::WantedRows};
use crate::front::error::AdminError;

/// The most rows that are looked at for one query. Fewer in tests, which would have to make them.
pub const LOOKED_AT: usize = if cfg!(test) { 2_000 } else { 100_000 };
/// The most bytes of values that are read for one query.
const BYTES: usize = 64 << 20;

/// Reads tables.
pub trait TableReader: Send + Sync + 'static {
    /// Reads the rows that are wanted of a table, in the order of the table, and maybe others.
    fn read(
        &self,
        table: Table,
        wanted: WantedRows,
        rows: Rows,
    ) -> BoxFuture<'static, Result<(), AdminError>>;
}

/// Counts the rows and bytes of one query.
#[derive(Debug, Default)]
pub struct Spent {
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

/// Takes the rows of a table from its reader. Whoever offers a row waits until the query has room for it.
pub struct Rows {
    table: Table,
    spent: Arc<Spent>,
    to: mpsc::Sender<Row>,
}

impl Rows {
    /// A channel that holds `room` rows: its two ends.
    pub fn new(table: Table, spent: Arc<Spent>, room: usize) -> (Self, mpsc::Receiver<Row>) {
        let (to, from) = mpsc::channel(room);
        (Self { table, spent, to }, from)
    }

    /// Offers a row.
    ///
    /// # Errors
    /// The values are larger than one query reads.
    pub async fn offer(&self, row: Row) -> Result<(), AdminError> {
        self.weighs(row.weight())?;
        // A query that has its answer drops the receiver together with this reader.
        self.to.send(row).await.ok();
        Ok(())
    }

    /// Counts rows that were looked at.
    ///
    /// # Errors
    /// There are more than are looked at for one query.
    pub fn looked_at(&self, rows: usize) -> Result<(), AdminError> {
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

    /// Counts bytes of values that were read.
    ///
    /// # Errors
    /// There are more than are read for one query.
    pub fn weighs(&self, bytes: usize) -> Result<(), AdminError> {
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
