//! Errors, and their classification as final or retryable.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    bindings::segno::workflow::types as wit,
    finite::to_json,
    payload::{self, Payload},
};

/// The result of a durable function and of most steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure with a code in the sense of HTTP status codes.
///
/// The code also decides if an **activity** is retried. Codes 400 to 499 are *final*, except 408
/// (timed out), 425 (too early) and 429 (too many requests); all other codes are *retryable*: the
/// call's [`RetryPolicy`](crate::RetryPolicy) decides, and may name further codes as final. An
/// error of a **workflow** ends its invocation whatever the code.
///
/// Any standard error (also an `anyhow::Error` or a string) becomes a retryable `Error` with code
/// 500 through `?`. Like `anyhow::Error`, this type therefore does not implement
/// [`std::error::Error`] itself.
///
/// ```
/// # extern crate segno_sdk as segno;
/// use segno::Error;
///
/// fn parse(text: &str) -> segno::Result<u32> {
///     Ok(text.parse()?) // from a standard error: code 500, tried again
/// }
/// assert!(!parse("x").unwrap_err().is_final());
/// assert!(Error::terminal(402, "the card was declined").is_final());
/// ```
#[derive(Clone, PartialEq)]
pub struct Error {
    code: u32,
    message: String,
    details: Option<Payload>,
}

/// Returns true if a failure with this code must not be retried.
pub(crate) fn is_final(code: u32) -> bool {
    matches!(code, 400..=499) && !matches!(code, 408 | 425 | 429)
}

impl Error {
    /// Bad input.
    pub const BAD_INPUT: u32 = 400;
    /// A budget has nothing left.
    pub const BUDGET_SPENT: u32 = 402;
    /// The host's policy refuses it.
    pub const FORBIDDEN: u32 = 403;
    /// The function does not exist.
    pub const NOT_FOUND: u32 = 404;
    /// A deadline passed.
    pub const TIMED_OUT: u32 = 408;
    /// The code of a final error without a more specific one.
    pub const REFUSED: u32 = 422;
    /// The invocation, or the awaited step, was cancelled.
    pub const CANCELLED: u32 = 499;
    /// The code of an error without a more specific one; retryable.
    pub const FAILED: u32 = 500;
    /// The workflow continues as new: the code of the error of
    /// [`Context::continue_as_new`](crate::Context::continue_as_new), whose details are the input
    /// of the next generation.
    pub const CONTINUED: u32 = 308;

    /// Creates a final error, which is not retried. `code` must be a final code (see [`Error`]);
    /// any other is replaced by [`REFUSED`](Self::REFUSED), since the host would retry it.
    pub fn terminal(code: u32, message: impl Into<String>) -> Self {
        Self::with_code(if is_final(code) { code } else { Self::REFUSED }, message)
    }

    /// Creates a transient failure; an activity that returns it is retried.
    pub fn retryable(message: impl Into<String>) -> Self {
        Self::with_code(Self::FAILED, message)
    }

    /// Creates a failure with any code, which decides if it is final.
    pub fn with_code(code: u32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// Creates an error for a passed deadline of `what`.
    pub fn timed_out(what: impl fmt::Display) -> Self {
        Self::with_code(Self::TIMED_OUT, format!("{what} timed out"))
    }

    /// Creates the error of a cancelled command.
    pub fn cancelled() -> Self {
        Self::with_code(Self::CANCELLED, "cancelled")
    }

    /// Creates the error of an await in a cancelled invocation.
    pub(crate) fn invocation_cancelled() -> Self {
        Self::with_code(Self::CANCELLED, "the invocation was cancelled")
    }

    /// Adds structured details for programs. Details that cannot be written as JSON are replaced by
    /// the text of that error.
    #[must_use]
    pub fn with_details<T: Serialize + ?Sized>(mut self, details: &T) -> Self {
        let json = to_json(details)
            .unwrap_or_else(|error| serde_json::Value::from(error.to_string()).to_string());
        self.details = Some(Payload::Json(json));
        self
    }

    /// The code; see [`Error`].
    pub fn code(&self) -> u32 {
        self.code
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The details for programs. `None` if there are none, or they are not a `T`.
    pub fn details<T: DeserializeOwned>(&self) -> Option<T> {
        payload::decode("the details", self.details.as_ref()?).ok()
    }

    /// Returns true if the error must not be retried.
    pub fn is_final(&self) -> bool {
        is_final(self.code)
    }

    /// Returns true if the invocation or the step was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.code == Self::CANCELLED
    }

    /// Returns true if a budget has nothing left, so that the call was not sent.
    pub fn is_budget_spent(&self) -> bool {
        self.code == Self::BUDGET_SPENT
    }

    /// Returns true if a deadline passed.
    pub fn is_timed_out(&self) -> bool {
        self.code == Self::TIMED_OUT
    }

    /// The error of a workflow that continues as new with this input.
    pub(crate) fn continued(input: Payload) -> Self {
        let message = "it continues as new: this error is to be returned as it is";
        Self { code: Self::CONTINUED, message: message.to_owned(), details: Some(input) }
    }

    pub(crate) fn continues(failure: &wit::Failure) -> bool {
        failure.code == Self::CONTINUED
    }

    pub(crate) fn from_failure(failure: wit::Failure) -> Self {
        Self { code: failure.code, message: failure.message, details: failure.details }
    }

    pub(crate) fn into_failure(self) -> wit::Failure {
        wit::Failure { code: self.code, message: self.message, details: self.details }
    }
}

/// Converts any standard error to one with code 500 and its sources in the message.
impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !message.contains(&cause_text) {
                message = format!("{message}: {cause_text}");
            }
            source = cause.source();
        }
        Self::retryable(message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (code {})", self.message, self.code)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")?;
        match &self.details {
            Some(Payload::Json(json)) => write!(formatter, " {json}"),
            Some(Payload::Bytes(bytes)) => write!(formatter, " ({} bytes of details)", bytes.len()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_whether_an_error_is_final() {
        for (code, final_) in [
            (399, false),
            (400, true),
            (404, true),
            (408, false),
            (425, false),
            (429, false),
            (499, true),
            (500, false),
        ] {
            assert_eq!(Error::with_code(code, "x").is_final(), final_, "{code}");
        }
    }

    #[test]
    fn a_terminal_error_is_final_whatever_the_code() {
        assert_eq!(Error::terminal(503, "x").code(), Error::REFUSED);
        assert_eq!(Error::terminal(402, "x").code(), 402);
    }

    #[test]
    fn a_standard_error_brings_its_sources() {
        let inner = std::io::Error::other("no route");
        let error = Error::from(anyhow::Error::new(inner).context("could not charge"));
        assert_eq!(error.message(), "could not charge: no route");
        assert!(!error.is_final());
    }

    #[test]
    fn details_cross_as_a_value() {
        let error = Error::terminal(409, "short of stock").with_details(&["p1", "p2"]);
        let again = Error::from_failure(error.clone().into_failure());
        assert_eq!(again, error);
        assert_eq!(again.details::<Vec<String>>().unwrap(), ["p1", "p2"]);
    }
}
