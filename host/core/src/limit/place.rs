//! Where an execution stands behind a limit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{id::shown_as_text, value::Text};

/// What a limit is of: `MODULE/FUNCTION`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LimitName(Text);

/// A key of a limit: `MODULE/FUNCTION@KEY`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionId(Text);

/// Where an execution stands behind a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Among which others.
    pub partition: PartitionId,
    /// In which lane.
    pub priority: u8,
    /// In which order it came: the numbers of one limit rise. 0, while it is expected.
    pub seq: u64,
    /// How far it is.
    pub state: PlaceState,
}

/// How far an execution is. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum PlaceState {
    /// It waits.
    Waiting = 1,
    /// It was admitted, and is counted.
    Admitted = 2,
    /// It has settled; a message is owed, or was carried out, that says it is not counted any more.
    Left = 3,
    /// It comes later: when it is to begin, or has its turn.
    Expected = 4,
}

impl LimitName {
    /// The limit of a function of a module.
    pub fn of(module: &str, function: &str) -> Self {
        Self(Text::from(format!("{module}/{function}")))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Module and function.
    pub fn parts(&self) -> Option<(&str, &str)> {
        self.as_str().split_once('/').filter(|(module, function)| {
            !module.is_empty() && !function.is_empty() && !function.contains('@')
        })
    }

    /// A key of it; where the limit has no key, the empty one.
    pub fn partition(&self, key: &str) -> PartitionId {
        PartitionId(Text::from(format!("{self}@{key}")))
    }
}

impl PartitionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The limit.
    pub fn limit(&self) -> LimitName {
        let name = self.as_str().split_once('@').map_or(self.as_str(), |(name, _)| name);
        LimitName(Text::from(name))
    }

    /// The key: what follows the first `@`.
    pub fn key(&self) -> &str {
        self.as_str().split_once('@').map_or("", |(_, key)| key)
    }
}

impl PlaceState {
    /// The stored number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state with this stored number.
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
