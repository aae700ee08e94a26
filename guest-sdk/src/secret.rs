//! A secret value.

use std::fmt;

/// A secret of an activity's module. It is not printed, and cannot be made into JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    pub(crate) fn new(name: &str, value: String) -> Self {
        Self { name: name.to_owned(), value }
    }

    /// The value, to be handed on to the service that it is for.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{secret:{}}}", self.name)
    }
}
