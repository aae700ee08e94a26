//! The time limit of one attempt of an activity or a request, which a call may have beside its own.

use segno_core::{tags, time::Millis};
use segno_guest::Failure;

use crate::values::code;

/// The limit that a call says, as its label or header has it.
///
/// # Errors
/// The failure of a call that says something else than a limit.
pub fn read(said: Option<&str>) -> Result<Option<Millis>, Failure> {
    let Some(said) = said else { return Ok(None) };
    match said.parse().map(Millis) {
        Ok(limit) if limit > Millis::ZERO => Ok(Some(limit)),
        _ => Err(Failure {
            code: code::BAD_REQUEST,
            message: format!(
                "the label `{}` is `{said}`: it takes a number of milliseconds above 0",
                tags::ATTEMPT_TIMEOUT_LABEL
            ),
            details: None,
        }),
    }
}

/// The failure of an attempt that was dropped at its limit: it may be tried again.
pub fn passed(attempt: u32, limit: Millis) -> Failure {
    Failure {
        code: code::TIMED_OUT,
        message: format!("attempt {attempt} took longer than an attempt may, {} ms", limit.0),
        details: None,
    }
}
