//! The errors of a failed batch and of its submissions.

use crate::{StoreError, postgres::failure::FailedStatement};

/// Reason why a batch has no replies.
pub(super) enum BatchError {
    Conflict,
    Unknown(String),
    Away(String),
    /// A database other than the home of the batch is away, which only some submissions need.
    ApartAway(String),
    Refused(FailedStatement),
}

impl BatchError {
    /// An error for each submission. Only the first receives a refusal of the database: a refused
    /// batch has one submission.
    pub(super) fn shares(self) -> impl Iterator<Item = Self> {
        let mut own = Some(self);
        let copy = match &own {
            Some(Self::Unknown(reason)) => Some(Self::Unknown(reason.clone())),
            Some(Self::Away(reason)) => Some(Self::Away(reason.clone())),
            _ => None,
        };
        std::iter::repeat_with(move || {
            own.take().unwrap_or_else(|| match &copy {
                Some(Self::Unknown(reason)) => Self::Unknown(reason.clone()),
                Some(Self::Away(reason)) => Self::Away(reason.clone()),
                _ => Self::Conflict,
            })
        })
    }
}

impl From<BatchError> for StoreError {
    fn from(batch_error: BatchError) -> Self {
        match batch_error {
            BatchError::Conflict => Self::Conflict,
            BatchError::Unknown(reason) => Self::UnknownOutcome(anyhow::anyhow!(reason)),
            BatchError::Away(reason) | BatchError::ApartAway(reason) => Self::Away { reason },
            BatchError::Refused(failed) => failed.explain(),
        }
    }
}
