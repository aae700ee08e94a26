//! A failed attempt, as the note of its task keeps it for tools.

use segno_core::promise::Note;
use serde::{Deserialize, Serialize};

/// The facts about a failed attempt, beside the sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// The code of the failure, one of HTTP or of the protocol.
    pub code: u32,
    /// The message of the deployment, or that of the host about it.
    pub message: String,
    /// The code under which tools document the failure.
    pub error: String,
    /// The command that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<FailedCommand>,
}

/// The command that an attempt failed at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCommand {
    /// Its index, the input included.
    pub index: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// The number of its type.
    pub number: Option<u16>,
}

impl FailedAttempt {
    /// The facts that a note keeps; `None` if it is not about an attempt.
    pub fn of_note(note: &Note) -> Option<Self> {
        serde_json::from_slice(note.details.as_slice()).ok()
    }

    /// The failure as tools show it, like `[500 Internal] no such card`.
    pub fn shown(&self) -> String {
        let name = match self.code {
            500 => " Internal",
            570 => " Journal mismatch",
            571 => " Protocol violation",
            _ => "",
        };
        format!("[{}{name}] {}", self.code, self.message)
    }
}
