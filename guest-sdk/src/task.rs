//! A future that is polled until it is pending, and again when it is woken.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context as Polling, Poll, Wake, Waker},
};

use crate::{bindings::segno::workflow::types as wit, error::Error};

/// A future whose output is the outcome for the host.
pub(crate) type OutcomeFuture = Pin<Box<dyn Future<Output = wit::Outcome>>>;

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A future with a flag that is set when it is woken.
pub(crate) struct WakeableFuture {
    future: OutcomeFuture,
    woken: Arc<WakeFlag>,
}

impl WakeableFuture {
    pub(crate) fn new(future: OutcomeFuture) -> Self {
        Self { future, woken: Arc::new(WakeFlag(AtomicBool::new(true))) }
    }

    pub(crate) fn wake(&self) {
        self.woken.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::Relaxed)
    }

    /// Polls until the future is ready, or is pending and was not woken during the poll. `None` if
    /// it is pending.
    pub(crate) fn poll_until_idle(&mut self) -> Option<wit::Outcome> {
        let waker = Waker::from(self.woken.clone());
        while self.woken.0.swap(false, Ordering::Relaxed) {
            let polled = self.future.as_mut().poll(&mut Polling::from_waker(&waker));
            if let Poll::Ready(outcome) = polled {
                return Some(outcome);
            }
        }
        None
    }
}

/// The failure of a call to a function that does not exist.
pub(crate) fn no_such_function(function: &str) -> wit::Failure {
    let message =
        format!("this module has no function `{function}`; is it in the list of `segno::module!`?");
    wit::Failure { code: Error::NOT_FOUND, message, details: None }
}
