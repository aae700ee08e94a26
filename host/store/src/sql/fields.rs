//! The columns of one row, on their way out of a database.

use std::borrow::Cow;

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::sql::Failure;

/// A row of any database, read by position.
pub(crate) trait Fields {
    /// A number, of whatever width; truth is 1.
    fn int(&self, column: usize) -> Result<Option<i64>, Failure>;
    /// A text.
    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure>;
    /// Bytes.
    fn blob(&self, column: usize) -> Result<Option<&[u8]>, Failure>;
}

impl<T: Fields + ?Sized> Fields for &T {
    fn int(&self, column: usize) -> Result<Option<i64>, Failure> {
        (**self).int(column)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure> {
        (**self).text(column)
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, Failure> {
        (**self).blob(column)
    }
}

impl Fields for SqliteRow {
    fn int(&self, column: usize) -> Result<Option<i64>, Failure> {
        Ok(self.try_get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, Failure> {
        Ok(self.try_get(column)?)
    }
}

impl Fields for rusqlite::Row<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>, Failure> {
        Ok(self.get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure> {
        let found = self.get_ref(column)?.as_str_or_null();
        Ok(found.map_err(|error| Failure::Unreadable(error.to_string()))?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, Failure> {
        let found = self.get_ref(column)?.as_blob_or_null();
        found.map_err(|error| Failure::Unreadable(error.to_string()))
    }
}
