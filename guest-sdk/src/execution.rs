//! Drives the future of one workflow: polls until the future has nothing more to do, then returns
//! to the host.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context as Polling, Poll, Wake, Waker},
};

use crate::{
    bindings::segno::workflow::types as wit,
    context::Context,
    function::{Entry, Kind},
    invocation::Invocation,
    journal::Journal,
    payload::Payload,
};

/// A future whose output is the outcome for the host.
pub(crate) type OutcomeFuture = Pin<Box<dyn Future<Output = wit::Outcome>>>;

/// One invocation and the future that produces its outcome.
pub(crate) struct Execution {
    invocation: Arc<Invocation>,
    /// `None` once the future has ended.
    future: Option<OutcomeFuture>,
}

impl Execution {
    /// Begins `entry` and runs it until it waits. An input of a wrong type ends it at once.
    pub(crate) fn start(
        entry: Option<&Entry>,
        function: &str,
        input: &Payload,
        facts: wit::Context,
        journal: Arc<dyn Journal>,
    ) -> Self {
        let invocation = Invocation::new(facts, journal);
        let begun = match entry.map(|entry| (entry.name, entry.kind)) {
            Some((_, Kind::Workflow(begin))) => begin(Context::new(invocation.clone()), input),
            Some((name, Kind::Activity(_))) => Err(wit::Failure {
                code: crate::Error::NOT_FOUND,
                message: format!("`{name}` is an activity; it is performed, not started"),
                details: None,
            }),
            None => Err(no_such_function(function)),
        };
        let future: OutcomeFuture = match begun {
            Ok(body) => {
                let invocation = invocation.clone();
                Box::pin(async move {
                    let outcome = body.await;
                    let unwind = invocation.sagas().unwind;
                    match unwind {
                        Some(unwind) => unwind(invocation, outcome).await,
                        None => outcome,
                    }
                })
            }
            Err(failure) => Box::pin(std::future::ready(wit::Outcome::Failure(failure))),
        };
        let mut execution = Self { invocation, future: Some(future) };
        execution.advance();
        execution
    }

    /// Delivers one event to the workflow and runs it until it waits again.
    pub(crate) fn resume(&mut self, event: wit::Event) {
        self.invocation.tell(event);
        self.advance();
    }

    fn advance(&mut self) {
        let Some(future) = &mut self.future else { return };
        if let Some(outcome) = poll_until_idle(future.as_mut()) {
            self.invocation.finish(&outcome);
            self.future = None;
        }
    }
}

/// The failure of a call of a function that does not exist.
pub(crate) fn no_such_function(function: &str) -> wit::Failure {
    let message =
        format!("this module has no function `{function}`; is it in the list of `segno::module!`?");
    wit::Failure { code: crate::Error::NOT_FOUND, message, details: None }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls until the future is ready, or is pending and has not been woken meanwhile.
pub(crate) fn poll_until_idle<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    while woken.0.swap(false, Ordering::Relaxed) {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Polling::from_waker(&waker)) {
            return Some(output);
        }
    }
    None
}
