//! The columns of one row, on their way out of a database.

use std::borrow::Cow;

use sqlx::{Row as _, sqlite::SqliteRow};

/// A row of any database, read by position.
pub(in crate::store) trait Fields {
    /// A number, of whatever width; truth is 1.
    fn int(&self, column: usize) -> Result<Option<i64>, sqlx::Error>;
    /// A text.
    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, sqlx::Error>;
    /// Bytes.
    fn blob(&self, column: usize) -> Result<Option<&[u8]>, sqlx::Error>;
}

impl Fields for SqliteRow {
    fn int(&self, column: usize) -> Result<Option<i64>, sqlx::Error> {
        self.try_get(column)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, sqlx::Error> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, sqlx::Error> {
        self.try_get(column)
    }
}
