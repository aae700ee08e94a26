//! Resources shared by several writers. A write presents a token and is accepted only if no larger
//! token preceded it. So a writer that lost its claim without noticing cannot change anything.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    id::{CommandIndex, ResourceName, Version},
    time::Timestamp,
    value::{Text, Value},
};

/// Fencing token. Increases with every claim on a task, and with every step within a claim.
///
/// ```text
/// token = version << 24 | command index
/// ```
///
/// Tokens of different tasks are not comparable. A resource that several tasks write gets its
/// tokens from its lease.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FenceToken(pub u64);

/// A resource, whose value is written under tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub name: ResourceName,
    /// Value written last.
    pub value: Value,
    /// Token of the last write.
    pub token: FenceToken,
}

/// Lease on a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLease {
    pub name: ResourceName,
    /// Token of this lease: one more than that of the previous lease.
    pub token: FenceToken,
    pub holder: Text,
    /// Expiry.
    pub until: Timestamp,
}

impl FenceToken {
    /// Largest token that a write may present: stores keep tokens in 63 bits, and every lease needs
    /// a larger token than the previous write.
    pub const LARGEST: Self = Self(1 << 62);

    /// Largest token of a lease.
    pub const LAST: Self = Self(i64::MAX as u64);

    pub fn of(version: Version, step: CommandIndex) -> Self {
        const STEPS: u32 = 24;
        Self(version.0 << STEPS | u64::from(step.0.min((1 << STEPS) - 1)))
    }

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
