//! Errors of requests: no answer, or a refusal.

use segno_model::Problem;

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No host answered. Except for refused connections, it is unknown if the request was
    /// processed.
    #[error("no host answers at {server}; start one with `segno serve`")]
    Unreachable {
        /// The address of the host.
        server: String,
        /// The error of the HTTP client.
        #[source]
        source: reqwest::Error,
    },
    /// The host did not answer in time.
    #[error("the host at {server} did not answer in time; it may have acted on the request")]
    Slow {
        /// The address of the host.
        server: String,
    },
    /// The host refused the request.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// The answer does not conform to this API: another program answers, or another version of
    /// Segno.
    #[error("what answers at {server} does not speak this API: {reason}")]
    Malformed {
        /// The address of the host.
        server: String,
        /// Description of the fault in the answer.
        reason: String,
    },
    /// The address of the host cannot be parsed.
    #[error("`{server}` is not a server's address: {reason}; write it like http://127.0.0.1:7766")]
    Address {
        /// The address as given.
        server: String,
        /// Description of the fault in the address.
        reason: String,
    },
}

impl ClientError {
    /// Returns a stable code. If the host refused the request, the code of its problem document.
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
