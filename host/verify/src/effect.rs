//! What was done outside in a run: attempts of activities that succeeded, and requests.

use serde_json::Value as Json;

use crate::schedule::Place;

/// One thing that was done outside, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The activity, or the request as `METHOD URL`.
    pub what: String,
    /// Its input, or the body.
    pub input: Json,
    /// The idempotency key under which it was asked; none: it had none.
    pub key: Option<String>,
    /// The promise that it was done for.
    pub place: Place,
    /// The activity that sent the request; none: the workflow asked for the effect itself.
    pub within: Option<String>,
    /// Whether it succeeded.
    pub succeeded: bool,
}

impl Effect {
    /// Whether it is what `name` names: an activity, or a request by the beginning of its address.
    pub fn is(&self, name: &str) -> bool {
        match name.contains(' ') {
            true => self.what.starts_with(name),
            false => self.what == name,
        }
    }
}
