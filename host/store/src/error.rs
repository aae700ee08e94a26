//! What can go wrong with a store; each variant says what is true afterwards.

/// The answer of a database, of whichever driver.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written; the same commands may be decided again.
    #[error("lost a race with another transaction")]
    Conflict,
    /// The commit was sent and no answer came: it may have happened.
    #[error("the outcome of a commit is unknown")]
    UnknownOutcome(#[source] anyhow::Error),
    /// Nothing was written, and another attempt fails until the operator acts.
    #[error("the store cannot go on: {reason}")]
    Unavailable {
        /// What happened and what to do.
        reason: String,
    },
    /// The database does not answer. Nothing was written; the store keeps trying, and continues
    /// when it is back.
    #[error("the database does not answer: {reason}; nothing was written, try again later")]
    Away {
        /// The error in place of an answer.
        reason: String,
    },
    /// The database refused a statement. Nothing was written.
    #[error("the database refused {statement}")]
    Database {
        /// The statement's name.
        statement: &'static str,
        /// The database's answer.
        #[source]
        source: BoxError,
    },
    /// A filter names something that does not exist.
    #[error("{0}")]
    Filter(String),
    /// A read of a client took longer than its time limit.
    #[error(
        "this took longer than the {seconds} s that a read may take ({statement}): narrow the filter, or ask for a \
         smaller page"
    )]
    TooLong {
        /// The statement's name.
        statement: &'static str,
        /// The limit.
        seconds: i64,
    },
    /// The store has been closed. Nothing was written.
    #[error("the store is closed")]
    Closed,
}
