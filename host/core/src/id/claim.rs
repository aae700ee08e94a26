//! Claims on tasks, and command indexes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PromiseId;

/// Fencing token of a task. Rises whenever its claim changes hands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

/// A claim on a task. Every write on behalf of the task presents it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    pub id: PromiseId,
    /// The task's version under this claim.
    pub version: Version,
}

/// Index of a command within its invocation, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CommandIndex(pub u32);

impl Claim {
    /// The claim of a holder that creates a task, if new tasks start at version `born`
    /// ([`View::first_version`](crate::view::View::first_version)).
    pub fn first(id: PromiseId, born: Version) -> Self {
        Self { id, version: born.next() }
    }
}

impl Version {
    /// The version after the next change of hands.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CommandIndex {
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CommandIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
