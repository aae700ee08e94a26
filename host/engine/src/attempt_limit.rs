//! The time limit of one attempt of an activity or a request. A call can set it in addition to the
//! time limit of the call itself.

use segno_core::{tags, time::Millis};
use segno_guest::Failure;

use crate::values::code;

/// Parses the attempt limit of a call, in milliseconds, from its label or header. `None` if `said`
/// is `None`.
///
/// # Errors
/// The failure of a call whose limit is not a positive number of milliseconds.
pub fn read(said: Option<&str>) -> Result<Option<Millis>, Failure> {
    let Some(said) = said else { return Ok(None) };
    match said.parse().map(Millis) {
        Ok(limit) if limit > Millis::ZERO => Ok(Some(limit)),
        _ => Err(Failure {
            code: code::BAD_REQUEST,
            message: format!(
                "the label `{}` is `{said}`: give a number of milliseconds above 0",
                tags::ATTEMPT_TIMEOUT_LABEL
            ),
            details: None,
        }),
    }
}

/// The failure of an attempt that was dropped at its limit. The retry policy may repeat it.
pub fn passed(attempt: u32, limit: Millis) -> Failure {
    Failure {
        code: code::TIMED_OUT,
        message: format!(
            "attempt {attempt} took longer than the time limit of an attempt, {} ms",
            limit.0
        ),
        details: None,
    }
}
