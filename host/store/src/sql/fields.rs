//! Access to the columns of a row that was read.

use std::borrow::Cow;

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::sql::SqlFailure;

/// A row of any database, with columns by position.
pub(crate) trait RowFields {
    /// An integer of any width; true is 1.
    fn int(&self, column: usize) -> Result<Option<i64>, SqlFailure>;
    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, SqlFailure>;
    fn blob(&self, column: usize) -> Result<Option<&[u8]>, SqlFailure>;
}

impl<T: RowFields + ?Sized> RowFields for &T {
    fn int(&self, column: usize) -> Result<Option<i64>, SqlFailure> {
        (**self).int(column)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, SqlFailure> {
        (**self).text(column)
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, SqlFailure> {
        (**self).blob(column)
    }
}

impl RowFields for SqliteRow {
    fn int(&self, column: usize) -> Result<Option<i64>, SqlFailure> {
        Ok(self.try_get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, SqlFailure> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, SqlFailure> {
        Ok(self.try_get(column)?)
    }
}

impl RowFields for rusqlite::Row<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>, SqlFailure> {
        Ok(self.get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, SqlFailure> {
        let found = self.get_ref(column)?.as_str_or_null();
        Ok(found.map_err(|error| SqlFailure::Unreadable(error.to_string()))?.map(Cow::Borrowed))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, SqlFailure> {
        let found = self.get_ref(column)?.as_blob_or_null();
        found.map_err(|error| SqlFailure::Unreadable(error.to_string()))
    }
}
