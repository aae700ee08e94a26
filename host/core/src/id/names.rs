//! Schedules and resources.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::Text;

/// A schedule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduleId(Text);

/// Something that several writers share: its value is written under fencing tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceName(Text);

impl ScheduleId {
    /// An id as a client chose it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl ResourceName {
    /// A name as a client chose it.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    /// The name as text.
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
