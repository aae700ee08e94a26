//! Resources that several writers share. A write presents a token and is accepted only if no larger
//! one was before it, so a writer that lost its claim, and does not know it, changes nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    id::{CommandIndex, ResourceName, Version},
    time::Timestamp,
    value::{Text, Value},
};

/// A number that grows with every claim on a task, and within a claim with every step.
///
/// ```text
/// token = version << 24 | command index
/// ```
///
/// Tokens of different tasks are not comparable: a resource that several tasks write takes its
/// tokens from its lease.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FenceToken(pub u64);

/// Something with a value that is written under tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its name.
    pub name: ResourceName,
    /// What was written last.
    pub value: Value,
    /// Under which token.
    pub token: FenceToken,
}

/// Who has a resource for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLease {
    /// The resource.
    pub name: ResourceName,
    /// The token of this lease: one more than that of the one before.
    pub token: FenceToken,
    /// Who holds it.
    pub holder: Text,
    /// Until when.
    pub until: Timestamp,
}

impl FenceToken {
    /// The largest token that a write may present: stores keep tokens in 63 bits, and every lease
    /// needs a larger one than the write before it.
    pub const LARGEST: Self = Self(1 << 62);

    /// The largest token that a lease may have.
    pub const LAST: Self = Self(i64::MAX as u64);

    /// The token of a step under a claim.
    pub fn of(version: Version, step: CommandIndex) -> Self {
        const STEPS: u32 = 24;
        Self(version.0 << STEPS | u64::from(step.0.min((1 << STEPS) - 1)))
    }

    /// The token after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for FenceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_with_steps_and_over_claims() {
        let token = |version, step| FenceToken::of(Version(version), CommandIndex(step));
        assert!(token(1, 0) < token(1, 1));
        assert!(token(1, u32::MAX) < token(2, 0));
    }
}
