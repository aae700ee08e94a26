//! Access to the columns of a row that was read.

use std::borrow::Cow;

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::sql::Failure;

/// A row of any database, with columns by position.
pub(crate) trait Fields {
    /// An integer of any width; true is 1.
    fn int(&self, column: usize) -> Result<Option<i64>, Failure>;
    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Failure>;
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
