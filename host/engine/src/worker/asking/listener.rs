//! The host side of a workflow's imports while it answers a question. The workflow may read the
//! time and log, and nothing else.

use segno_core::time::Timestamp;
use segno_guest::{GuestJournal, JournalAnswer, JournalCall, StopReason};

use crate::worker::commands;

/// Refuses all commands.
pub(super) struct QuestionJournal {
    /// A description of the question, for messages.
    pub what: String,
    /// The logical time.
    pub now: Timestamp,
}

impl GuestJournal for QuestionJournal {
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason> {
        let refused = match ask {
            JournalCall::Now => {
                return Ok(JournalAnswer::Now(u64::try_from(self.now.0).unwrap_or(0)));
            }
            // Log lines of an answer belong to no record and are dropped.
            JournalCall::Log { .. } => return Ok(JournalAnswer::Done),
            JournalCall::Command(command) => {
                let asked = commands::asked(commands::rules(&command));
                format!("issued a command ({:?} `{}`)", asked.kind, asked.name)
            }
            JournalCall::Forget { command } | JournalCall::RunDone { command, .. } => {
                format!("did something about command {command}")
            }
            JournalCall::Finish { .. } => "ended the workflow".to_owned(),
        };
        Err(StopReason::Contract(format!(
            "{} {refused}: it only reads what the workflow knows, and neither writes nor waits",
            self.what
        )))
    }
}
