//! Moving house: a whole store, as it leaves one place and enters another.
//!
//! Rows are what the tables hold, column by column: the databases have the same tables, so nothing is interpreted on the
//! way, and rows of later formats need no change here. On the way they are a [`file`].

mod file;
mod schema;

use std::io;

use segno_core::value::Bytes;
use serde::{Deserialize, Serialize};

use super::StoreError;

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

/// A table that moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub rows: u64,
}

/// What the file holds.
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
    /// All rows.
    pub fn rows(&self) -> u64 {
        self.tables.iter().fold(0, |rows, table| rows.saturating_add(table.rows))
    }
}

/// Why a store did not move. What it was to move into is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is something else.
    #[error("this is not an export of a store")]
    NotAnExport,
    /// It was written by a newer segno.
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
    /// It is whole, and holds what no export of a store holds.
    #[error("the file is no export of a store: {place}: {reason}")]
    Foreign {
        /// The table, the column and the row, as far as they are known.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// It grows beyond what is taken.
    #[error("the file is too large once it is unpacked: {0}")]
    TooLarge(String),
    /// Something is in the store already.
    #[error("`{0}` is not empty: a store moves into an empty one only")]
    NotEmpty(String),
    /// The database refused.
    #[error("the database refused to {what}")]
    Database {
        /// What was tried.
        what: String,
        /// Its answer.
        #[source]
        source: sqlx::Error,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The place cannot be used.
    #[error("{0}")]
    Place(String),
}

/// Takes what leaves a store.
pub trait ArchiveSink: Send {
    /// What will come; once, before all rows.
    ///
    /// # Errors
    /// The file cannot be written.
    fn head(&mut self, head: &Head) -> Result<(), ArchiveError>;

    /// A row of a table, by its place in the head.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_row(&mut self, table: usize, row: Row) -> Result<(), ArchiveError>;
}

/// Hands out what enters a store.
pub trait ArchiveSource: Send {
    /// What will come.
    fn head(&self) -> &Head;

    /// Some rows of one table, by its place in the head; none: that was all, and it was whole.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    fn read_rows(&mut self) -> Result<Option<(usize, Vec<Row>)>, ArchiveError>;
}
