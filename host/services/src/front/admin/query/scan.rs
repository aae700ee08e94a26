//! The rows of a table as far as a query has read them.

use std::{collections::HashMap, future::poll_fn, sync::Arc, task::Poll};

use futures::future::BoxFuture;
use tokio::{runtime::Handle, sync::mpsc};

use super::{row::Row, value::Value};
use crate::front::error::AdminError;

/// Rows that were read, and a reader that goes on where they end. A table that is read again, by a join, is not asked
/// of the store again.
pub struct TableScan {
    rows: Vec<Arc<Row>>,
    /// The places of rows by the text of a column.
    indexes: HashMap<&'static str, HashMap<String, Arc<Vec<usize>>>>,
    offered: mpsc::Receiver<Row>,
    /// Offers the rows that come; none: all were offered.
    reader: Option<BoxFuture<'static, Result<(), AdminError>>>,
}

impl TableScan {
    /// From the first row on that the reader offers.
    pub fn new(
        reader: BoxFuture<'static, Result<(), AdminError>>,
        offered: mpsc::Receiver<Row>,
    ) -> Self {
        Self { rows: Vec::new(), indexes: HashMap::new(), offered, reader: Some(reader) }
    }

    /// The row at a place; none: the table ends before it.
    ///
    /// # Errors
    /// The reader fails.
    pub fn row(&mut self, place: usize, runtime: &Handle) -> Result<Option<Arc<Row>>, AdminError> {
        while self.rows.len() <= place {
            if !self.read_on(runtime)? {
                return Ok(None);
            }
        }
        Ok(Some(Arc::clone(&self.rows[place])))
    }

    /// The places of the rows in which a column is this text. The whole table is read for it.
    ///
    /// # Errors
    /// The reader fails.
    pub fn places(
        &mut self,
        column: &'static str,
        text: &str,
        runtime: &Handle,
    ) -> Result<Arc<Vec<usize>>, AdminError> {
        while self.read_on(runtime)? {}
        let index = self.indexes.entry(column).or_insert_with(|| {
            let mut index: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, row) in self.rows.iter().enumerate() {
                if let Value::Text(text) = row.get(column) {
                    index.entry(text.clone()).or_default().push(place);
                }
            }
            index.into_iter().map(|(text, places)| (text, Arc::new(places))).collect()
        });
        Ok(index.get(text).cloned().unwrap_or_default())
    }

    /// Takes one more row; answers whether there was one.
    fn read_on(&mut self, runtime: &Handle) -> Result<bool, AdminError> {
        loop {
            if let Ok(row) = self.offered.try_recv() {
                self.rows.push(Arc::new(row));
                return Ok(true);
            }
            let Some(reader) = &mut self.reader else { return Ok(false) };
            // It offers rows until there is no more room for them.
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
