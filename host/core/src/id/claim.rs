//! Claims on tasks, and the numbers of commands.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PromiseId;

/// The fencing token of a task: raised whenever its claim changes hands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

/// One claim on a task: every write made for the task presents it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The task.
    pub id: PromiseId,
    /// Its version under this claim.
    pub version: Version,
}

/// The number of a command within its invocation, from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CommandIndex(pub u32);

impl Claim {
    /// The claim of the holder that makes a task, where tasks are born at the version `born`
    /// ([`View::first_version`](crate::view::View::first_version)).
    pub fn first(id: PromiseId, born: Version) -> Self {
        Self { id, version: born.next() }
    }
}

impl Version {
    /// The version after one more change of hands.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl CommandIndex {
    /// The command after this one.
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
