//! A secret value.

use std::fmt;

/// A secret of an activity's module. It is hidden in debug output and cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    pub(crate) fn new(name: &str, value: String) -> Self {
        Self { name: name.to_owned(), value }
    }

    /// The value, for use with the service that it belongs to.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{secret:{}}}", self.name)
    }
}
