//! The errors that prevent a verification: the fault is in the arguments or the script, not in the
//! workflow.

use crate::{
    schedule::{EventChoice, ScheduleError},
    script::VerifyScriptError,
};

/// The reason that nothing could be verified.
#[derive(Debug, Clone, thiserror::Error)]
pub enum VerifyError {
    /// The component has no such workflow.
    #[error("the component has no workflow `{function}`; it has {known}")]
    NoFunction {
        /// The requested name.
        function: String,
        known: String,
    },
    #[error("{what}: {why}")]
    Component {
        /// The component that failed to load.
        what: String,
        /// The reason.
        why: String,
    },
    #[error("{0}")]
    Script(String),
    /// The script has no answer for a request.
    #[error(
        "`{request}` has no answer in the script, and nothing is sent outside: add an answer to the script ([[answer]] with http = \"{request}\"), or let it out with --real"
    )]
    NoAnswer {
        /// Method and address of the request.
        request: String,
    },
    /// The text is not a schedule.
    #[error("{0}")]
    NoSchedule(#[from] ScheduleError),
    /// The schedule belongs to another run.
    #[error(
        "the schedule does not fit: entry {number}, `{entry}`, is not possible there; possible is {possible}"
    )]
    Misfit {
        /// Number of the entry, from 1.
        number: usize,
        entry: String,
        /// The events that are possible there.
        possible: String,
    },
    /// The host itself failed: a defect of Segno.
    #[error("the host failed, which is a defect of Segno: {0}")]
    Host(String),
}

impl From<VerifyScriptError> for VerifyError {
    fn from(error: VerifyScriptError) -> Self {
        Self::Script(error.to_string())
    }
}

impl VerifyError {
    /// An error for an entry that is not among the `enabled` events.
    pub fn misfit(number: usize, entry: impl ToString, enabled: &[EventChoice]) -> Self {
        let possible = match enabled {
            [] => "nothing".to_owned(),
            _ => enabled.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
        };
        Self::Misfit { number, entry: entry.to_string(), possible }
    }
}
