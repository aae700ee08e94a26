//! The rows of a table that a query has read so far.

use std::{collections::HashMap, future::poll_fn, sync::Arc, task::Poll};

use futures::future::BoxFuture;
use tokio::{runtime::Handle, sync::mpsc};

use super::{row::TableRow, value::RowValue};
use crate::front::error::AdminResult;

/// The rows read so far, and a reader that continues after them. When a join reads the table again,
/// the store is not read again.
pub(super) struct TableScan {
    rows: Vec<Arc<TableRow>>,
    /// Positions of rows, by column and text.
    indexes: HashMap<&'static str, HashMap<String, Arc<Vec<usize>>>>,
    offered: mpsc::Receiver<TableRow>,
    /// The reader that sends further rows; `None` when it has ended.
    reader: Option<BoxFuture<'static, AdminResult<()>>>,
}

impl TableScan {
    /// Starts before the first row of the reader.
    pub(super) fn new(
        reader: BoxFuture<'static, AdminResult<()>>,
        offered: mpsc::Receiver<TableRow>,
    ) -> Self {
        Self { rows: Vec::new(), indexes: HashMap::new(), offered, reader: Some(reader) }
    }

    /// Returns the row at a position; `None` after the end of the table.
    ///
    /// # Errors
    /// The reader failed.
    pub(super) fn row(
        &mut self,
        place: usize,
        runtime: &Handle,
    ) -> AdminResult<Option<Arc<TableRow>>> {
        while self.rows.len() <= place {
            if !self.read_on(runtime)? {
                return Ok(None);
            }
        }
        Ok(Some(Arc::clone(&self.rows[place])))
    }

    /// Returns the positions of the rows in which a column has this text. Reads the whole table.
    ///
    /// # Errors
    /// The reader failed.
    pub(super) fn places(
        &mut self,
        column: &'static str,
        text: &str,
        runtime: &Handle,
    ) -> AdminResult<Arc<Vec<usize>>> {
        while self.read_on(runtime)? {}
        let index = self.indexes.entry(column).or_insert_with(|| {
            let mut index: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, row) in self.rows.iter().enumerate() {
                if let RowValue::Text(text) = row.get(column) {
                    index.entry(text.clone()).or_default().push(place);
                }
            }
            index.into_iter().map(|(text, places)| (text, Arc::new(places))).collect()
        });
        Ok(index.get(text).cloned().unwrap_or_default())
    }

    /// Reads one more row. Returns false at the end.
    fn read_on(&mut self, runtime: &Handle) -> AdminResult<bool> {
        loop {
            if let Ok(row) = self.offered.try_recv() {
                self.rows.push(Arc::new(row));
                return Ok(true);
            }
            let Some(reader) = &mut self.reader else { return Ok(false) };
            // The reader runs until the channel is full.
            let offered = &self.offered;
            let ended = runtime.block_on(poll_fn(|context| match reader.as_mut().poll(context) {
                Poll::Pending if offered.is_empty() => Poll::Pending,
                Poll::Pending => Poll::Ready(None),
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
            }));
            if let Some(ended) = ended {
                self.reader = None;
                ended?;
            }
        }
    }
}
