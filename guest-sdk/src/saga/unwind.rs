//! Unwinding: undoes the steps of a saga from the last to the first, as determined by recorded
//! facts.

use std::{future::poll_fn, sync::Arc};

use super::state::UnwindAction;
use crate::{
    bindings::segno::workflow::types as wit, call::no_options, error::Error,
    invocation::CurrentInvocation, journal::WorkflowCommand, task::OutcomeFuture,
};

/// Unwinds a saga, and adds the report to the error that is the reason.
pub(super) async fn unwind(
    invocation: &Arc<CurrentInvocation>,
    saga: usize,
    reason: Error,
) -> Error {
    invocation.sagas().end(saga);
    loop {
        let act = poll_fn(|polling| invocation.sagas().next(saga, polling.waker())).await;
        let request = match &act {
            UnwindAction::Undo(step, input) => WorkflowCommand::Undo {
                step: step.clone(),
                input: input.clone(),
                options: no_options(),
            },
            UnwindAction::Ask(step, name) => {
                invocation.journal.log(
                    wit::Level::Warn,
                    &format!(
                        "step {} of the saga `{}` (`{name}`) is unclear: check whether it acted, then resolve the promise `{}/u/{}/{}` if it did, which undoes it, or reject the promise if it did not",
                        step.seq, step.saga, invocation.facts.invocation, step.saga, step.seq
                    ),
                );
                WorkflowCommand::Ask { step: step.clone() }
            }
            UnwindAction::Over => break,
        };
        let issued = invocation.journal.issue(request);
        invocation.sagas().acts(issued.index, saga, &act);
    }
    let report = invocation.sagas().report(saga);
    report.added_to(reason)
}

/// The outcome of a workflow, after unwinding the sagas that its failure left open.
pub(super) fn unwind_all(
    invocation: Arc<CurrentInvocation>,
    outcome: wit::Outcome,
) -> OutcomeFuture {
    Box::pin(async move {
        let wit::Outcome::Failure(failure) = outcome else { return outcome };
        let mut error = Error::from_failure(failure);
        let open = invocation.sagas().open();
        for saga in open {
            error = unwind(&invocation, saga, error).await;
        }
        wit::Outcome::Failure(error.into_failure())
    })
}
