//! Archives: a whole store, exported from one database and imported into another.
//!
//! An archive holds the rows of the tables, column by column. Both databases have the same tables,
//! so rows are copied without interpretation, and later row formats need no change here. In
//! transit, an archive is a [`mod@file`].

mod file;
mod schema;

use std::io;

use segno_core::value::Bytes;
use serde::{Deserialize, Serialize};

use super::{StoreError, error::BoxError, sql::SqlFailure};

pub use file::{ArchiveBounds, ArchiveReader, ArchiveWriter};
pub use schema::{ArchiveSchema, CellKind, CheckedSource, SchemaColumn, SchemaTable, verify};

/// A cell: one column of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArchiveCell {
    /// SQL `NULL`.
    Null,
    /// An integer.
    Int(i64),
    /// A text, in the engine's form (PostgreSQL's escapes removed).
    Text(String),
    Blob(Bytes),
}

/// A row, with cells in the order of its table's columns.
pub type ArchiveRow = Vec<ArchiveCell>;

/// A table in an archive's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveTable {
    pub name: String,
    /// Column names, in the order of the cells.
    pub columns: Vec<String>,
    /// Number of rows.
    pub rows: u64,
}

/// The head of an archive: its version, format and tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveHead {
    /// The version of segno that wrote the archive.
    pub written_by: String,
    /// Format of the tables: the number of the newest migration.
    pub format: i64,
    /// The tables; a table comes before the tables that reference it.
    pub tables: Vec<ArchiveTable>,
}

impl ArchiveHead {
    /// Number of rows in all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().fold(0, |rows, table| rows.saturating_add(table.rows))
    }
}

/// Error of an export or import. After a failed import the target store is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is not an archive.
    #[error("this is not an export of a store")]
    NotAnExport,
    /// A newer segno wrote the file.
    #[error("it has format {found}, and this segno knows formats up to {known}: use a newer segno")]
    Newer {
        /// The file's format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file ends too early, or its content does not match its digest.
    #[error("the file is damaged or incomplete: {0}; export again")]
    Damaged(String),
    /// The file is intact, but its content does not fit the schema of a store.
    #[error("the file is no export of a store: {place}: {reason}")]
    Foreign {
        /// The table, column and row, as far as they are known.
        place: String,
        /// The mismatch found there.
        reason: String,
    },
    /// The unpacked file exceeds the allowed size.
    #[error("the file is too large once it is unpacked: {0}")]
    TooLarge(String),
    /// The target store is not empty.
    #[error("`{0}` is not empty: a store moves into an empty one only")]
    NotEmpty(String),
    /// The database refused a statement.
    #[error("the database refused to {what}")]
    Database {
        /// The attempted action.
        what: String,
        /// The error returned by the database.
        #[source]
        source: BoxError,
    },
    /// Everything is imported, and not all shards are in their databases.
    #[error(
        "everything is imported, but not all shards are moved from the first database to the others: move them with \
         `segno shards balance`"
    )]
    NotBalanced(#[source] BoxError),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target location cannot be used.
    #[error("{0}")]
    Place(String),
}

impl ArchiveError {
    /// An error for a statement that the database refused.
    pub(crate) fn refused(what: impl Into<String>, source: impl Into<SqlFailure>) -> Self {
        Self::Database { what: what.into(), source: source.into().into() }
    }
}

/// Receives the rows of an exported store.
pub trait ArchiveSink: Send {
    /// Receives the head. Called once, before all rows.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError>;

    /// Receives a row of the table with this index in the head.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    fn write_row(&mut self, table: usize, row: ArchiveRow) -> Result<(), ArchiveError>;
}

/// Yields the rows of a store to import.
pub trait ArchiveSource: Send {
    fn head(&self) -> &ArchiveHead;

    /// Reads the next rows, with the index of their table in the head. `None` at the end of a
    /// complete archive.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is damaged.
    fn read_rows(&mut self) -> Result<Option<(usize, Vec<ArchiveRow>)>, ArchiveError>;
}
