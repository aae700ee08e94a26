//! Signals: messages from outside to a running invocation.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context as Polling, Poll},
};

use futures_util::Stream;
use serde::de::DeserializeOwned;

use crate::{
    bindings::segno::workflow::types as wit,
    error::Result,
    invocation::CurrentInvocation,
    payload::{self, Payload},
};

/// A signal that the invocation received.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    name: String,
    payload: Payload,
}

impl Signal {
    /// The name that the sender gave.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Decodes the value as a `T`.
    ///
    /// # Errors
    /// Code 400 if the value is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        payload::decode(&format!("the payload of signal `{}`", self.name), &self.payload)
    }
}

impl From<wit::Signal> for Signal {
    fn from(signal: wit::Signal) -> Self {
        Self { name: signal.name, payload: signal.payload }
    }
}

/// The signals of this invocation in the order of their arrival; signals that arrive before a
/// receiver waits are kept. Each signal is delivered once, to the first receiver that waits. The
/// stream has no end; a cancellation is delivered as one error.
///
/// The function must be declared with `#[segno::workflow(signals)]`.
pub struct Signals {
    invocation: Arc<CurrentInvocation>,
    key: u64,
    name: Option<String>,
}

impl Signals {
    pub(crate) fn new(invocation: &Arc<CurrentInvocation>) -> Self {
        Self { invocation: invocation.clone(), key: invocation.add_listener(), name: None }
    }

    /// Receives only signals with this name; others are left for other receivers.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    /// Code 499 if the invocation is cancelled while it waits.
    pub fn receive(&mut self) -> Receive<'_> {
        Receive(self)
    }

    fn poll(&mut self, polling: &mut Polling<'_>) -> Poll<Result<Signal>> {
        let polled = self.invocation.poll_signal(self.key, self.name.as_deref(), polling.waker());
        polled.map(|signal| signal.map(Signal::from))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.invocation.remove_listener(self.key);
    }
}

impl Stream for Signals {
    type Item = Result<Signal>;

    fn poll_next(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Option<Self::Item>> {
        self.poll(polling).map(Some)
    }
}

/// The future of [`Signals::receive`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Receive<'a>(&'a mut Signals);

impl Future for Receive<'_> {
    type Output = Result<Signal>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        self.0.poll(polling)
    }
}
