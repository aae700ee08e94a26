//! Archives: a whole store, exported from one database and imported into another.
//!
//! An archive holds the rows of the tables, column by column. Both databases have the same tables,
//! so no row is interpreted on the way, and rows of later formats need no change here. Between the
//! databases an archive is a [`file`].

mod file;
mod schema;

use std::io;

use segno_core::value::Bytes;
use serde::{Deserialize, Serialize};

use super::{StoreError, error::BoxError, sql::Failure};

pub use file::{ArchiveReader, ArchiveWriter, Bounds};
pub use schema::{Checked, Column, Kind, Known, Schema, verify};

/// One column of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number.
    Int(i64),
    /// A text, as the engine has it.
    Text(String),
    /// Bytes.
    Blob(Bytes),
}

/// A row, in the order of its table's columns.
pub type Row = Vec<Cell>;

/// A table of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The number of its rows.
    pub rows: u64,
}

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of segno that wrote it.
    pub written_by: String,
    /// The format of the tables: the number of the newest migration.
    pub format: i64,
    /// The tables, those referred to before those that refer.
    pub tables: Vec<Table>,
}

impl Head {
    /// The number of rows in all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().fold(0, |rows, table| rows.saturating_add(table.rows))
    }
}

/// Why an export or an import failed. The store that was to be filled is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is something else.
    #[error("this is not an export of a store")]
    NotAnExport,
    /// A newer segno wrote the file.
    #[error("it has format {found}, and this segno knows formats up to {known}: use a newer segno")]
    Newer {
        /// Its format.
        found: i64,
        /// The newest known here.
        known: i64,
    },
    /// The file ends too early, or its bytes are not those that were written.
    #[error("the file is damaged or incomplete: {0}; export again")]
    Damaged(String),
    /// The file is complete, and holds what no export of a store holds.
    #[error("the file is no export of a store: {place}: {reason}")]
    Foreign {
        /// The table, the column and the row, as far as they are known.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// Unpacked, the file is larger than allowed.
    #[error("the file is too large once it is unpacked: {0}")]
    TooLarge(String),
    /// The store to be filled holds something.
    #[error("`{0}` is not empty: a store moves into an empty one only")]
    NotEmpty(String),
    /// The database refused.
    #[error("the database refused to {what}")]
    Database {
        /// What was tried.
        what: String,
        /// Its answer.
        #[source]
        source: BoxError,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The place cannot be used.
    #[error("{0}")]
    Place(String),
}

impl ArchiveError {
    /// The error of a statement that the database refused.
    pub(crate) fn refused(what: impl Into<String>, source: impl Into<Failure>) -> Self {
        Self::Database { what: what.into(), source: source.into().into() }
    }
}

/// Takes the rows of a store that is exported.
pub trait ArchiveSink: Send {
    /// Takes the head; called once, before all rows.
    ///
    /// # Errors
    /// The file cannot be written.
    fn head(&mut self, head: &Head) -> Result<(), ArchiveError>;

    /// Takes a row of the table at this place in the head.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_row(&mut self, table: usize, row: Row) -> Result<(), ArchiveError>;
}

/// Yields the rows of a store that is imported.
pub trait ArchiveSource: Send {
    /// The head.
    fn head(&self) -> &Head;

    /// Rows of the table at this place in the head; none at the end of a complete archive.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    fn read_rows(&mut self) -> Result<Option<(usize, Vec<Row>)>, ArchiveError>;
}
