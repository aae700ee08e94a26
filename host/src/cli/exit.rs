//! How a command ends: the exit code, and the errors that lead to one.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::{api::model::InvocationState, client::ClientError};

/// What the command's end says to a script. The numbers are documented in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// An error.
    Error = 1,
    /// Wrong usage.
    Usage = 2,
    /// Not found.
    NotFound = 3,
    /// The invocation failed.
    Failed = 4,
    /// The invocation was cancelled.
    Cancelled = 5,
    /// The invocation timed out or has not ended in time.
    TimedOut = 6,
    /// A replay diverged.
    Diverged = 7,
    /// The host does not answer.
    Unreachable = 8,
    /// The store is damaged.
    Damaged = 9,
}

impl Exit {
    /// What an invocation in this state means to who waited for it.
    pub fn of(state: InvocationState) -> Self {
        match state {
            InvocationState::Resolved => Self::Done,
            InvocationState::Rejected => Self::Failed,
            InvocationState::Cancelled => Self::Cancelled,
            InvocationState::TimedOut
            | InvocationState::Pending
            | InvocationState::Acquired
            | InvocationState::Suspended
            | InvocationState::Halted => Self::TimedOut,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The host did not answer, or said no.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The arguments make no sense together, or one of them cannot be read.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// `read` or `write`.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
    /// Something else, said by whoever did it.
    #[error("{message}")]
    Other {
        /// Stable, for programs.
        code: &'static str,
        /// What was wrong and what to do.
        message: String,
    },
}

impl CliError {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Client(ClientError::Unreachable { .. } | ClientError::Slow { .. }) => {
                Exit::Unreachable
            }
            Self::Client(ClientError::Refused(problem)) if problem.status == 404 => Exit::NotFound,
            Self::Client(ClientError::Address { .. }) | Self::Usage(_) => Exit::Usage,
            Self::Client(_) | Self::File { .. } | Self::Output(_) | Self::Other { .. } => {
                Exit::Error
            }
        }
    }

    /// The error for programs: the host's problem as it came, otherwise code and detail.
    pub fn document(&self) -> Value {
        if let Self::Client(ClientError::Refused(problem)) = self {
            return json!(problem);
        }
        let code = match self {
            Self::Client(error) => error.code(),
            Self::Usage(_) => "usage",
            Self::File { .. } => "file",
            Self::Output(_) => "output",
            Self::Other { code, .. } => code,
        };
        json!({ "code": code, "detail": self.to_string() })
    }
}
