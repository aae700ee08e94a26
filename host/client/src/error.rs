//! Why a request got no answer, or the answer no.

use segno_model::Problem;

/// What can go wrong with a request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answered. Whether the request was acted on is unknown, but for connections that were refused.
    #[error("no host answers at {server}; start one with `segno serve`")]
    Unreachable {
        /// The address that was tried.
        server: String,
        /// What happened.
        #[source]
        source: reqwest::Error,
    },
    /// The host took too long.
    #[error("the host at {server} did not answer in time; it may have acted on the request")]
    Slow {
        /// The address that was tried.
        server: String,
    },
    /// The host refused.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// Whatever answered is not a host of Segno, or another version.
    #[error("what answers at {server} does not speak this API: {reason}")]
    Malformed {
        /// The address that was tried.
        server: String,
        /// What was odd.
        reason: String,
    },
    /// The address is not one.
    #[error("`{server}` is not a server's address: {reason}; write it like http://127.0.0.1:7766")]
    Address {
        /// What was given.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl ClientError {
    /// The stable code: the problem's, if it is one.
    pub fn code(&self) -> &str {
        match self {
            Self::Unreachable { .. } => "server-unreachable",
            Self::Slow { .. } => "server-slow",
            Self::Refused(problem) => &problem.code,
            Self::Malformed { .. } => "unexpected-answer",
            Self::Address { .. } => "invalid-server",
        }
    }
}
