//! Schedule ids and resource names.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::Text;

/// Id of a schedule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduleId(Text);

/// Name of a resource that several writers share. Its value is written under fencing tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceName(Text);

impl ScheduleId {
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ResourceName {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl From<&str> for ScheduleId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}
