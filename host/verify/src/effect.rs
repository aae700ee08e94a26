//! External effects of a run: successful attempts of activities, and requests.

use serde_json::Value as Json;

use crate::schedule::RelativeId;

/// One external effect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExternalEffect {
    /// The activity, or the request as `METHOD URL`.
    pub what: String,
    /// The input of the activity, or the body of the request.
    pub input: Json,
    /// The idempotency key of the request. `None` if it had none.
    pub key: Option<String>,
    /// The promise that the effect belongs to.
    pub place: RelativeId,
    /// The activity that sent the request. `None` if the workflow issued the effect itself.
    pub within: Option<String>,
    /// True if it succeeded.
    pub succeeded: bool,
}

impl ExternalEffect {
    /// Returns true if `name` names this effect: an activity, or a request by the beginning of its
    /// address.
    pub(crate) fn is(&self, name: &str) -> bool {
        match name.contains(' ') {
            true => self.what.starts_with(name),
            false => self.what == name,
        }
    }
}
