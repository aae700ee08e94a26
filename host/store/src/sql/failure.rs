//! Errors of statements, independent of the driver.

/// A failed statement, or a row that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlFailure {
    /// A row holds an unexpected value.
    #[error("error occurred while decoding: {0}")]
    Unreadable(String),
    /// An error of SQLite in the writer.
    #[error("error returned from database: (code: {code}) {message}")]
    Sqlite {
        /// The extended result code.
        code: i32,
        /// SQLite's error message.
        message: String,
    },
    /// An error of the sqlx driver, or of the database behind it.
    #[error(transparent)]
    Driver(sqlx::Error),
    /// The connected server is not the primary.
    #[error("{0}")]
    NotPrimary(String),
    /// A statement that always finds a row found none.
    #[error("no rows returned by a query that expected to return at least one row")]
    NoRow,
}

impl From<sqlx::Error> for SqlFailure {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Decode(error) => Self::Unreadable(error.to_string()),
            sqlx::Error::ColumnDecode { index, source } => {
                Self::Unreadable(format!("column {index}: {source}"))
            }
            other => Self::Driver(other),
        }
    }
}

impl From<rusqlite::Error> for SqlFailure {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, message) => {
                let message = message.unwrap_or_else(|| failure.to_string());
                Self::Sqlite { code: failure.extended_code, message }
            }
            other => Self::Unreadable(other.to_string()),
        }
    }
}

/// The reason why a row cannot be read.
///
/// # Errors
/// Any other error: the database did not return the row.
pub(crate) fn unreadable(error: SqlFailure) -> Result<String, SqlFailure> {
    match error {
        SqlFailure::Unreadable(reason) => Ok(reason),
        other => Err(other),
    }
}
