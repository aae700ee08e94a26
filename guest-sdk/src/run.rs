//! Computations whose result is recorded, so that they are executed once.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context as Polling, Poll},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    handle::{Decode, Handle},
    invocation::CurrentInvocation,
    journal::CommandReceipt,
    payload::{self, Payload},
};

/// A recorded computation. The closure is executed on the first poll, or by [`start`](Self::start);
/// a replay returns the recorded result instead. An error is recorded like a value and is not
/// retried.
#[must_use = "a run is executed when it is awaited, or by `start`"]
pub struct Run<T> {
    invocation: Arc<CurrentInvocation>,
    name: String,
    stage: RunStage<T>,
    decode: Decode<T>,
}

type Closure = Box<dyn FnOnce() -> wit::Outcome + std::marker::Send>;

enum RunStage<T> {
    New(Closure),
    Issued(Handle<T>),
    Done,
}

/// The return value of a closure: a value, or a result of one.
#[diagnostic::on_unimplemented(
    message = "a run closure cannot return `{Self}`",
    note = "it returns a value that serde can write and read, or a `Result` of one whose error converts into `segno::Error`"
)]
pub trait RunOutput<Shape> {
    /// The recorded value.
    type Value: Serialize + DeserializeOwned;

    /// Converts to the value or the error.
    fn into_result(self) -> Result<Self::Value>;
}

/// Marks closures that return a plain value.
pub struct Plain;
/// Marks closures that return a result.
pub struct Fallible;

impl<T: Serialize + DeserializeOwned> RunOutput<Plain> for T {
    type Value = T;

    fn into_result(self) -> Result<T> {
        Ok(self)
    }
}

impl<T: Serialize + DeserializeOwned, E: Into<Error>> RunOutput<Fallible> for Result<T, E> {
    type Value = T;

    fn into_result(self) -> Result<T> {
        self.map_err(Into::into)
    }
}

impl<T: DeserializeOwned> Run<T> {
    pub(crate) fn new<S, R>(
        invocation: &Arc<CurrentInvocation>,
        name: &str,
        closure: impl FnOnce() -> R + std::marker::Send + 'static,
    ) -> Self
    where
        R: RunOutput<S, Value = T>,
        T: Serialize,
    {
        let what = format!("the result of run `{name}`");
        let closure = move || match closure()
            .into_result()
            .and_then(|value| payload::encode(&what, &value))
        {
            Ok(payload) => wit::Outcome::Success(payload),
            Err(error) => wit::Outcome::Failure(error.into_failure()),
        };
        Self {
            invocation: invocation.clone(),
            name: name.to_owned(),
            stage: RunStage::New(Box::new(closure)),
            decode: decode_result,
        }
    }

    /// Executes the closure immediately, or reads its recorded result.
    pub fn start(mut self) -> Handle<T> {
        self.issue();
        match std::mem::replace(&mut self.stage, RunStage::Done) {
            RunStage::Issued(handle) => handle,
            RunStage::New(_) | RunStage::Done => {
                unreachable!("a run is issued once, and consumed by its end")
            }
        }
    }
}

fn decode_result<T: DeserializeOwned>(payload: Payload) -> Result<T> {
    payload::decode("the recorded result of a run", &payload)
}

impl<T> Run<T> {
    fn issue(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, RunStage::Done) {
            RunStage::New(closure) => {
                let index = self.invocation.run(&self.name, closure);
                RunStage::Issued(Handle::new(
                    self.invocation.clone(),
                    CommandReceipt { index, promise: None },
                    self.decode,
                ))
            }
            stage => stage,
        };
    }
}

impl<T> Future for Run<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        let run = self.get_mut();
        run.issue();
        match &mut run.stage {
            RunStage::Issued(handle) => Pin::new(handle).poll(polling),
            RunStage::New(_) | RunStage::Done => {
                panic!("run `{}` was awaited again after its end", run.name)
            }
        }
    }
}
