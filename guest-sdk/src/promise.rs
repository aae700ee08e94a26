//! Promises: values that are settled from outside.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    task::{Context as Polling, Poll},
    time::Duration,
};

use crate::{
    error::Result,
    handle::{Handle, Step, StepStage},
    journal::WorkflowCommand,
    time::millis,
};

/// A promise that is settled from outside by its [`id`](Self::id): by a person, another workflow,
/// or a web hook. Awaiting it returns the value, or the error with which it was rejected.
///
/// The promise is created on its first poll, or when its id is read, whichever is first.
#[must_use = "a promise is made when it is awaited, when its id is asked for, or by `start`"]
pub struct Promise<T>(pub(crate) RefCell<Step<T>>);

impl<T> Promise<T> {
    /// Sets the time after which the promise fails with code 408. Must be set before the promise is
    /// created.
    pub fn timeout(mut self, duration: Duration) -> Self {
        if let StepStage::New(WorkflowCommand::Promise { options, .. }) =
            &mut self.0.get_mut().stage
        {
            options.timeout_ms = Some(millis(duration));
        }
        self
    }

    /// The id for settling the promise: `{invocation}/p/{name}` for a named promise. Creates the
    /// promise.
    pub fn id(&self) -> String {
        let mut step = self.0.borrow_mut();
        step.issue();
        match &step.stage {
            StepStage::Issued(handle) => handle.id(),
            _ => panic!("the id of a promise was asked for after its end"),
        }
    }

    /// Creates the promise immediately; see [`Step::start`].
    pub fn start(self) -> Handle<T> {
        self.0.into_inner().start()
    }
}

impl<T> Future for Promise<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        Pin::new(self.0.get_mut()).poll(polling)
    }
}
