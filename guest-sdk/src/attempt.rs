//! One attempt of an activity, from beginning to end.

use crate::{
    activity::ActivityContext,
    attempt_operations::AttemptOperations,
    bindings::segno::workflow::types as wit,
    error::Error,
    function::{Entry, EntryPoint},
    payload::Payload,
    task::{WakeableFuture, no_such_function},
};

/// Runs one attempt of an activity and returns its outcome. Fails if the function does not exist,
/// is a workflow, or awaits something that never completes.
pub(crate) fn perform(
    entry: Option<&Entry>,
    function: &str,
    input: &Payload,
    facts: wit::ActivityContext,
    attempt: Box<dyn AttemptOperations>,
) -> wit::Outcome {
    let begun = match entry.map(|entry| (entry.name, entry.kind)) {
        Some((_, EntryPoint::Activity(begin))) => {
            begin(ActivityContext::new(facts, attempt), input)
        }
        Some((name, EntryPoint::Workflow(_))) => Err(wit::Failure {
            code: Error::NOT_FOUND,
            message: format!("`{name}` is a workflow; it is started, not performed"),
            details: None,
        }),
        None => Err(no_such_function(function)),
    };
    match begun {
        Ok(future) => WakeableFuture::new(future)
            .poll_until_idle()
            .unwrap_or_else(|| wit::Outcome::Failure(stuck(function))),
        Err(failure) => wit::Outcome::Failure(failure),
    }
}

fn stuck(function: &str) -> wit::Failure {
    let message = format!(
        "activity `{function}` awaits something that never completes: inside an activity only its context's own futures end"
    );
    Error::terminal(Error::REFUSED, message).into_failure()
}
