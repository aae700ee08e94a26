//! Places of executions behind limits.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{id::shown_as_text, value::Text};

/// Name of a limit: the limited function, `MODULE/FUNCTION`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LimitName(Text);

/// Id of a partition, one key of a limit: `MODULE/FUNCTION@KEY`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionId(Text);

/// Place of an execution behind a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitPosition {
    pub partition: PartitionId,
    /// Priority, which determines the lane.
    pub priority: u8,
    /// Order of arrival: the numbers of one limit increase. 0 while the execution is expected.
    pub seq: u64,
    pub state: LimitPositionState,
}

/// State of an execution behind a limit. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum LimitPositionState {
    Waiting = 1,
    /// Admitted; counts as running.
    Admitted = 2,
    /// Settled. A message that removes it from the counts is pending or was processed.
    Left = 3,
    /// Will arrive later, at its start time or when it has its turn.
    Expected = 4,
}

impl LimitName {
    pub fn of(module: &str, function: &str) -> Self {
        Self(Text::from(format!("{module}/{function}")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Module and function. `None` if the name is malformed.
    pub fn parts(&self) -> Option<(&str, &str)> {
        self.as_str().split_once('/').filter(|(module, function)| {
            !module.is_empty() && !function.is_empty() && !function.contains('@')
        })
    }

    /// Partition of a key; the empty key if the limit has none.
    pub fn partition(&self, key: &str) -> PartitionId {
        PartitionId(Text::from(format!("{self}@{key}")))
    }
}

impl PartitionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn limit(&self) -> LimitName {
        let name = self.as_str().split_once('@').map_or(self.as_str(), |(name, _)| name);
        LimitName(Text::from(name))
    }

    /// The key: the part after the first `@`.
    pub fn key(&self) -> &str {
        self.as_str().split_once('@').map_or("", |(_, key)| key)
    }
}

impl LimitPositionState {
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state with this stored number. `None` if there is none.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Waiting, Self::Admitted, Self::Left, Self::Expected]
            .into_iter()
            .find(|it| it.number() == number)
    }
}

impl From<&str> for LimitName {
    fn from(name: &str) -> Self {
        Self(Text::from(name))
    }
}

impl From<&str> for PartitionId {
    fn from(id: &str) -> Self {
        Self(Text::from(id))
    }
}

shown_as_text!(LimitName, PartitionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_named_by_its_limit_and_its_key() {
        let limit = LimitName::of("shop", "Cart/add");
        let partition = limit.partition("a@b/c");
        assert_eq!(partition.as_str(), "shop/Cart/add@a@b/c");
        assert_eq!((partition.limit(), partition.key()), (limit.clone(), "a@b/c"));
        assert_eq!(limit.parts(), Some(("shop", "Cart/add")));
        for wrong in ["shop", "/f", "shop/", "shop/f@k"] {
            assert_eq!(LimitName::from(wrong).parts(), None, "{wrong}");
        }
    }
}
