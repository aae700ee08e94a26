//! Errors of a store. Each variant states what holds after the failure.

/// The error type of a database driver.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written; the same commands may be decided again.
    #[error("lost a race with another transaction")]
    Conflict,
    /// The commit was sent and no answer came: it may have happened.
    #[error("the outcome of a commit is unknown")]
    UnknownOutcome(#[source] anyhow::Error),
    /// Nothing was written, and another attempt fails until the operator acts.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// The cause and the required action.
        reason: String,
    },
    /// The database does not answer. Nothing was written; the store keeps retrying and resumes when
    /// the database is back.
    #[error("the database does not answer: {reason}; nothing was written, try again later")]
    Away {
        /// The error received instead of an answer.
        reason: String,
    },
    /// The database refused a statement. Nothing was written.
    #[error("the database refused {statement}")]
    Database {
        statement: &'static str,
        /// The error returned by the database.
        #[source]
        source: BoxError,
    },
    /// A filter names something that does not exist.
    #[error("{0}")]
    Filter(String),
    /// A client's read exceeded its time limit.
    #[error(
        "this took longer than the {seconds} s that a read may take ({statement}): narrow the filter, or ask for a \
         smaller page"
    )]
    TooLong {
        statement: &'static str,
        /// The time limit, in seconds.
        seconds: i64,
    },
    /// The store has been closed. Nothing was written.
    #[error("the store is closed")]
    Closed,
}
