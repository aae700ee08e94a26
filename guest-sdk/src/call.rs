//! Calls and sends with their options.

use std::{
    future::Future,
    pin::Pin,
    task::{Context as Polling, Poll},
    time::Duration,
};

use crate::{
    bindings::segno::workflow::types as wit,
    budget::{Amount, BUDGET_LABEL, add_to_label},
    error::Result,
    handle::{Handle, Step, StepStage},
    journal::{CommandTime, WorkflowCommand},
    retry::RetryPolicy,
    saga::SagaStep,
    time::{Timestamp, millis},
};

/// Empty options: the function's defaults apply, then the host's.
pub(crate) fn no_options() -> wit::CallOptions {
    wit::CallOptions { timeout_ms: None, retry: None, start_at_ms: None, labels: Vec::new() }
}

/// A call of a durable function, or an HTTP request, whose result is awaited. The call is issued on
/// its first poll, or by [`start`](Self::start); set its options before.
#[must_use = "a call is issued when it is awaited, or by `start`"]
pub struct Call<T>(pub(crate) Step<T>);

/// A start of a durable function that does not wait for its end. Awaiting it confirms that the
/// start is stored, and returns the id of the new invocation, which outlives this one.
#[must_use = "a send is issued when it is awaited, or by `start`"]
pub struct Send(pub(crate) Step<String>);

/// The options of a request that has not been issued. `None` if it has been.
fn options<T>(step: &mut Step<T>) -> Option<&mut wit::CallOptions> {
    match &mut step.stage {
        StepStage::New(
            WorkflowCommand::Call { options, .. }
            | WorkflowCommand::Send { options, .. }
            | WorkflowCommand::Http { options, .. },
        ) => Some(options),
        _ => None,
    }
}

/// Implements the options of a request, its `start`, and awaiting it.
macro_rules! with_options {
    ($type:ty, $output:ty $(, $generic:ident)?) => {
        impl$(<$generic>)? $type {
            /// Sets the time from the command (or from the delayed start) to its deadline, all
            /// attempts included. At the deadline the result is an error with code 408, and the
            /// callee is ended immediately, without cleaning up.
            pub fn timeout(mut self, duration: Duration) -> Self {
                if let Some(options) = options(&mut self.0) {
                    options.timeout_ms = Some(millis(duration));
                }
                self
            }

            /// Sets the retry policy of this call, instead of the activity's own. Has no effect for
            /// a workflow, whose error is its result.
            pub fn retry(mut self, policy: RetryPolicy) -> Self {
                if let Some(options) = options(&mut self.0) {
                    options.retry = Some(policy.into_options());
                }
                self
            }

            /// Sets the maximum duration of one attempt of an activity or request. A longer attempt
            /// is dropped and fails with code 408, and is retried by the retry policy. Has no
            /// effect for a workflow.
            pub fn attempt_timeout(mut self, duration: Duration) -> Self {
                if let Some(options) = options(&mut self.0) {
                    let label = ("segno:attempt-timeout-ms".to_owned(), millis(duration).to_string());
                    options.labels.push(label);
                }
                self
            }

            /// Gives the callee a budget of its own: at most this amount of a unit for it and
            /// everything below it. What it spends, the budgets above it spend as well.
            ///
            /// # Panics
            /// If the amount is negative, not finite or too large.
            pub fn budget(mut self, unit: &str, limit: impl Into<Amount>) -> Self {
                let millionths = limit.into().millionths().unwrap_or_else(|error| panic!("{error}"));
                if let Some(options) = options(&mut self.0) {
                    let is_budget = |(label, _): &&mut (String, String)| label == BUDGET_LABEL;
                    match options.labels.iter_mut().find(is_budget) {
                        Some((_, limits)) => *limits = add_to_label(limits, unit, millionths),
                        None => {
                            let limits = add_to_label("", unit, millionths);
                            options.labels.push((BUDGET_LABEL.to_owned(), limits));
                        }
                    }
                }
                self
            }

            /// Adds a label to the call, for filters: `segno list --label KEY=VALUE`.
            pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
                if let Some(options) = options(&mut self.0) {
                    options.labels.push((key.into(), value.into()));
                }
                self
            }

            /// Issues the command immediately; see [`Step::start`].
            pub fn start(self) -> Handle<$output> {
                self.0.start()
            }
        }

        impl$(<$generic>)? Future for $type {
            type Output = Result<$output>;

            fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
                Pin::new(&mut self.0).poll(polling)
            }
        }
    };
}

with_options!(Call<T>, T, T);
with_options!(Send, String);
with_options!(SagaStep<T>, T, T);

impl<T> Call<T> {
    /// Starts the callee without waiting for its end.
    ///
    /// # Panics
    /// If the call was already issued, or is not a call of a function.
    pub fn send(self) -> Send {
        let Step { invocation, stage, .. } = self.0;
        let request = match stage {
            StepStage::New(WorkflowCommand::Call { function, input, options, .. }) => {
                Ok(WorkflowCommand::Send { function, input, options, when: None })
            }
            StepStage::Failed(error) => Err(error),
            _ => panic!("only a call of a function that was not issued yet can be sent"),
        };
        Send(Step::new(&invocation, request, crate::function::decode_result))
    }
}

impl Send {
    /// Delays the start until this instant.
    pub fn at(self, instant: Timestamp) -> Self {
        self.when(CommandTime::At(instant))
    }

    /// Delays the start by this time, counted from the moment at which the send is issued.
    pub fn after(self, delay: Duration) -> Self {
        self.when(CommandTime::After(delay))
    }

    fn when(mut self, chosen: CommandTime) -> Self {
        if let StepStage::New(WorkflowCommand::Send { when, .. }) = &mut self.0.stage {
            *when = Some(chosen);
        }
        self
    }
}
