//! A failed attempt, as stored in the note of its task, for tools.

use segno_core::promise::Note;
use serde::{Deserialize, Serialize};

/// The facts about a failed attempt, in addition to the readable message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// The failure code, from HTTP or the protocol.
    pub code: u32,
    /// The message of the deployment, or of the host about it.
    pub message: String,
    /// The code under which the failure is documented.
    pub error: String,
    /// The command at which the attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<FailedCommand>,
}

/// The command at which an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCommand {
    /// The index of the command. The input has index 0.
    pub index: Option<u32>,
    pub name: Option<String>,
    /// The number of the command's type.
    pub number: Option<u16>,
}

impl FailedAttempt {
    /// The facts in a note. `None` if the note is not about an attempt.
    pub fn of_note(note: &Note) -> Option<Self> {
        serde_json::from_slice(note.details.as_slice()).ok()
    }

    /// The failure in the format of tools, like `[500 Internal] no such card`.
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
