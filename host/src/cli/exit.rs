//! Exit codes of commands, and the errors that lead to them.

use std::process::ExitCode;

use serde_json::{Value, json};

use segno_api::model::InvocationState;
use segno_client::ClientError;

/// The result of a command, for scripts. The numbers are documented in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
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
    /// A replay differed from the journal.
    Diverged = 7,
    /// The host does not answer.
    Unreachable = 8,
    /// The store, or a bundle, is damaged.
    Damaged = 9,
    /// A verification has findings.
    Found = 10,
}

impl Exit {
    /// The exit code for a client that waited for an invocation in this state.
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

/// The reason that a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The host did not answer, or refused the request.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The arguments contradict each other, or one of them cannot be parsed.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// Either `read` or `write`.
        what: &'static str,
        /// The path of the file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A bundle is damaged or has a newer format, or the file is not a bundle.
    #[error("{path}: {reason}")]
    BadBundle {
        /// The path of the file.
        path: String,
        /// The fault and its place.
        reason: String,
    },
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
    /// Another error.
    #[error("{message}")]
    Other {
        /// A stable code, for programs.
        code: &'static str,
        /// The fault and its remedy.
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
            Self::BadBundle { .. } => Exit::Damaged,
            Self::Client(_) | Self::File { .. } | Self::Output(_) | Self::Other { .. } => {
                Exit::Error
            }
        }
    }

    /// The error as JSON: the host's problem document, otherwise code and detail.
    pub fn document(&self) -> Value {
        if let Self::Client(ClientError::Refused(problem)) = self {
            return json!(problem);
        }
        let code = match self {
            Self::Client(error) => error.code(),
            Self::Usage(_) => "usage",
            Self::File { .. } => "file",
            Self::BadBundle { .. } => "bad-bundle",
            Self::Output(_) => "output",
            Self::Other { code, .. } => code,
        };
        json!({ "code": code, "detail": self.to_string() })
    }
}
