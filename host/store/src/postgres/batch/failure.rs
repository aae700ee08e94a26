//! Reasons why a batch was not committed.

use std::collections::BTreeSet;

use segno_core::{footprint::Footprint, limit::LimitName, shard::DatabaseIndex};

use crate::postgres::{failure::FailedStatement, load::LoadFailure};

/// A statement that failed in one of the databases.
#[derive(Debug)]
pub(in crate::postgres) struct DatabaseFailure {
    pub(in crate::postgres) database: DatabaseIndex,
    pub(in crate::postgres) failed: FailedStatement,
}

/// Reason why a batch was not committed.
#[derive(Debug)]
pub(in crate::postgres) enum CommitFailure {
    /// Nothing was written.
    Failed(DatabaseFailure),
    /// The outcome of the commit is unknown.
    Unknown(DatabaseFailure),
    /// Nothing was written: another transaction holds one of these rows. The next attempt must lock
    /// them first.
    LockFirst(Box<Footprint>),
    /// Nothing was written: another process started a new incarnation of the same host.
    Overtaken,
    /// Nothing was written: this database has a newer map of the shards.
    NewMap(DatabaseIndex),
    /// Nothing was written: the shard of some rows is being moved.
    Halted,
    /// Nothing was written: these limits get rows, and other hosts do not look for them yet.
    NewLimits(BTreeSet<LimitName>),
}

impl CommitFailure {
    /// A failure in this database, before the commit.
    pub(super) fn at<F: Into<Self>>(database: DatabaseIndex) -> impl Fn(F) -> Self {
        move |failed| match failed.into() {
            Self::Failed(DatabaseFailure { failed, .. }) => {
                Self::Failed(DatabaseFailure { database, failed })
            }
            other => other,
        }
    }
}

impl From<FailedStatement> for CommitFailure {
    fn from(failed: FailedStatement) -> Self {
        Self::Failed(DatabaseFailure { database: 0, failed })
    }
}

impl From<LoadFailure> for CommitFailure {
    fn from(not_loaded: LoadFailure) -> Self {
        match not_loaded {
            LoadFailure::Failed(failed) => failed.into(),
            LoadFailure::LockFirst(first) => Self::LockFirst(first),
        }
    }
}

impl From<DatabaseFailure> for CommitFailure {
    fn from(failure: DatabaseFailure) -> Self {
        Self::Failed(failure)
    }
}
