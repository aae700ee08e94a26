//! Commands as futures: a [`Step`] has not been issued yet, a [`Handle`] has.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context as Polling, Poll, ready},
};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    invocation::CurrentInvocation,
    journal::{CommandReceipt, WorkflowCommand},
    payload::Payload,
};

/// The function that decodes the value of a command.
pub(crate) type Decode<T> = fn(Payload) -> Result<T>;

/// An issued command; polling the handle awaits its answer.
///
/// Dropping the handle before the answer tells the host not to deliver it. The work itself
/// continues until the workflow ends, and is then asked to stop. To stop it earlier, use
/// [`Context::cancel`](crate::Context::cancel); to let it outlive the workflow, use
/// [`Context::send`](crate::Context::send).
#[must_use = "the command was issued; await its answer, or drop the handle if the answer is not needed"]
pub struct Handle<T> {
    invocation: Arc<CurrentInvocation>,
    issued: CommandReceipt,
    decode: Decode<T>,
    done: bool,
}

impl<T> Handle<T> {
    pub(crate) fn new(
        invocation: Arc<CurrentInvocation>,
        issued: CommandReceipt,
        decode: Decode<T>,
    ) -> Self {
        Self { invocation, issued, decode, done: false }
    }

    /// The index of the command in the journal.
    pub fn command(&self) -> u32 {
        self.issued.index
    }

    /// The id of the command's promise: `{invocation}/{index}`, or that of a named promise.
    pub fn id(&self) -> String {
        match &self.issued.promise {
            Some(id) => id.clone(),
            None => format!("{}/{}", self.invocation.facts.invocation, self.issued.index),
        }
    }
}

impl<T> Future for Handle<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        assert!(!self.done, "command {} was awaited again after its answer", self.issued.index);
        let outcome = ready!(self.invocation.poll_command(self.issued.index, polling.waker()));
        self.done = true;
        Poll::Ready(match outcome {
            wit::Outcome::Success(payload) => (self.decode)(payload),
            wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
        })
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if !self.done {
            self.invocation.let_go(self.issued.index);
        }
    }
}

/// A command that has not been issued yet. It is issued on its first poll, so the order of first
/// polls is the order of commands in the journal; [`start`](Self::start) issues it immediately.
#[must_use = "a command is issued when it is awaited, or by `start`"]
pub struct Step<T> {
    pub(crate) invocation: Arc<CurrentInvocation>,
    pub(crate) stage: StepStage<T>,
    decode: Decode<T>,
}

pub(crate) enum StepStage<T> {
    New(WorkflowCommand),
    Issued(Handle<T>),
    /// The input could not be encoded.
    Failed(Error),
    Done,
}

impl<T> Step<T> {
    pub(crate) fn new(
        invocation: &Arc<CurrentInvocation>,
        request: Result<WorkflowCommand>,
        decode: Decode<T>,
    ) -> Self {
        let stage = match request {
            Ok(request) => StepStage::New(request),
            Err(error) => StepStage::Failed(error),
        };
        Self { invocation: invocation.clone(), stage, decode }
    }

    /// Issues the command immediately. Its handle can be awaited later, passed to `cancel`, or
    /// dropped.
    ///
    /// # Panics
    /// If the input cannot be written as JSON. Awaiting the step instead returns that as an error.
    pub fn start(mut self) -> Handle<T> {
        self.issue();
        match std::mem::replace(&mut self.stage, StepStage::Done) {
            StepStage::Issued(handle) => handle,
            StepStage::Failed(error) => panic!("{error}"),
            StepStage::New(_) | StepStage::Done => {
                unreachable!("a step is issued once, and consumed by its end")
            }
        }
    }

    pub(crate) fn issue(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, StepStage::Done) {
            StepStage::New(request) => {
                let issued = self.invocation.issue(request);
                StepStage::Issued(Handle::new(self.invocation.clone(), issued, self.decode))
            }
            stage => stage,
        };
    }
}

impl<T> Future for Step<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        let step = self.get_mut();
        step.issue();
        match &mut step.stage {
            StepStage::Issued(handle) => Pin::new(handle).poll(polling),
            StepStage::Failed(error) => {
                let error = error.clone();
                step.stage = StepStage::Done;
                Poll::Ready(Err(error))
            }
            StepStage::New(_) | StepStage::Done => panic!("a step was awaited again after its end"),
        }
    }
}
