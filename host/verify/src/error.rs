//! Why nothing could be verified: the fault is in what was asked, not in the workflow.

use crate::{
    schedule::{Choice, NoSchedule},
    script::BadScript,
};

/// Why nothing could be verified.
#[derive(Debug, Clone, thiserror::Error)]
pub enum VerifyError {
    /// The component has no such workflow.
    #[error("the component has no workflow `{function}`; it has {known}")]
    NoFunction {
        /// The name that was asked for.
        function: String,
        /// The workflows of the component.
        known: String,
    },
    /// The component cannot be loaded.
    #[error("{what}: {why}")]
    Component {
        /// Which component.
        what: String,
        /// Why not.
        why: String,
    },
    /// The script cannot be used.
    #[error("{0}")]
    Script(String),
    /// Nothing says what a request is answered.
    #[error(
        "`{request}` is sent, and nothing is sent outside: say in the script what it is answered ([[answer]] with http = \"{request}\"), or let it out with --real"
    )]
    NoAnswer {
        /// Its method and address.
        request: String,
    },
    /// The text is no schedule.
    #[error("{0}")]
    NoSchedule(#[from] NoSchedule),
    /// The schedule is of another run.
    #[error(
        "the schedule does not fit: entry {number}, `{entry}`, is not possible there; possible is {possible}"
    )]
    Misfit {
        /// The entry's number, from 1.
        number: usize,
        /// The entry.
        entry: String,
        /// What is possible.
        possible: String,
    },
    /// The host itself failed: a defect of Segno.
    #[error("the host failed, which is a defect of Segno: {0}")]
    Host(String),
}

impl From<BadScript> for VerifyError {
    fn from(error: BadScript) -> Self {
        Self::Script(error.to_string())
    }
}

impl VerifyError {
    /// An entry that is not possible where `enabled` is.
    pub fn misfit(number: usize, entry: impl ToString, enabled: &[Choice]) -> Self {
        let possible = match enabled {
            [] => "nothing".to_owned(),
            _ => enabled.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
        };
        Self::Misfit { number, entry: entry.to_string(), possible }
    }
}
