//! Why a statement failed, whichever driver says so.

/// A failed statement, or a row that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A row does not hold what the tables should hold.
    #[error("error occurred while decoding: {0}")]
    Unreadable(String),
    /// The answer of SQLite to the writer.
    #[error("error returned from database: (code: {code}) {message}")]
    Sqlite {
        /// The extended result code.
        code: i32,
        /// What SQLite says.
        message: String,
    },
    /// The answer of a driver, or of the database behind it.
    #[error(transparent)]
    Driver(sqlx::Error),
    /// The server that was reached is not the one that takes writes.
    #[error("{0}")]
    NotPrimary(String),
    /// A statement that always finds a row found none.
    #[error("no rows returned by a query that expected to return at least one row")]
    NoRow,
}

impl From<sqlx::Error> for Failure {
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

impl From<rusqlite::Error> for Failure {
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

/// What a row that cannot be read says of itself.
///
/// # Errors
/// Any other error: the database did not give the row.
pub(crate) fn unreadable(error: Failure) -> Result<String, Failure> {
    match error {
        Failure::Unreadable(reason) => Ok(reason),
        other => Err(other),
    }
}
