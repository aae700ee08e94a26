//! Reasons why a shard is not moved.

use crate::error::BoxError;

/// Reason why a shard was not moved. It is where it was.
#[derive(Debug, thiserror::Error)]
pub enum ShardMoveError {
    /// There is no such shard or database.
    #[error("{0}")]
    Unknown(String),
    /// Another shard is being moved.
    #[error("shard {0} is being moved: wait for its end, then move this one")]
    Busy(u16),
    /// The map changed in the meantime.
    #[error(
        "the map of the shards was changed in between, by another command or by hosts that gave up the move: look at `segno shards status`, and try again"
    )]
    GivenUp,
    /// Transactions of hosts did not end.
    #[error("{0} transactions that began before the move have not ended: try again")]
    Older(i64),
    /// The copy differs from the rows that were copied.
    #[error("the copy of table `{table}` differs: nothing was moved")]
    Differs {
        /// The table.
        table: &'static str,
    },
    /// A database did not do what the move needs.
    #[error("{database} failed ({statement})")]
    Database {
        /// The address without its password.
        database: String,
        /// What was tried.
        statement: &'static str,
        /// The error of the database.
        #[source]
        source: BoxError,
    },
}
