//! The columns of one row, on their way out of a database.

use std::borrow::Cow;

use sqlx::{Row as _, sqlite::SqliteRow};

/// A row of any database, read by position.
pub(crate) trait Fields {
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

impl Fields for rusqlite::Row<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>, sqlx::Error> {
        self.get(column).map_err(unreadable)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, sqlx::Error> {
        let found = self.get_ref(column).map_err(unreadable)?.as_str_or_null();
        Ok(found.map_err(|error| sqlx::Error::Decode(error.into()))?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, sqlx::Error> {
        let found = self.get_ref(column).map_err(unreadable)?.as_blob_or_null();
        found.map_err(|error| sqlx::Error::Decode(error.into()))
    }
}

fn unreadable(error: rusqlite::Error) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}
