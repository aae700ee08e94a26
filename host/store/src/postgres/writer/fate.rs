//! Why a batch has no replies, and what each who asked is told.

use crate::{StoreError, postgres::failure::Failed};

/// Why a batch has no replies.
pub(super) enum Fate {
    Conflict,
    Unknown(String),
    Away(String),
    Refused(Failed),
}

impl Fate {
    /// The same for everybody. Only who was alone is refused.
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

impl From<Fate> for StoreError {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Conflict => Self::Conflict,
            Fate::Unknown(reason) => Self::UnknownOutcome(anyhow::anyhow!(reason)),
            Fate::Away(reason) => Self::Away { reason },
            Fate::Refused(failed) => failed.explain(),
        }
    }
}
