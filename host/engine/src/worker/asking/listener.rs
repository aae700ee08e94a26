//! The host side of a workflow's imports while it answers a question. The workflow may read the
//! time and log, and nothing else.

use segno_core::time::Timestamp;
use segno_guest::{Answer, Ask, Journal, Stop};

use crate::worker::commands;

/// Refuses all commands.
pub struct Listener {
    /// A description of the question, for messages.
    pub what: String,
    /// The logical time.
    pub now: Timestamp,
}

impl Journal for Listener {
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop> {
        let refused = match ask {
            Ask::Now => return Ok(Answer::Now(u64::try_from(self.now.0).unwrap_or(0))),
            // Log lines of an answer belong to no record and are dropped.
            Ask::Log { .. } => return Ok(Answer::Done),
            Ask::Command(command) => {
                let asked = commands::asked(commands::rules(&command));
                format!("issued a command ({:?} `{}`)", asked.kind, asked.name)
            }
            Ask::Forget { command } | Ask::RunDone { command, .. } => {
                format!("did something about command {command}")
            }
            Ask::Finish { .. } => "ended the workflow".to_owned(),
        };
        Err(Stop::Contract(format!(
            "{} {refused}: it only reads what the workflow knows, and neither writes nor waits",
            self.what
        )))
    }
}
