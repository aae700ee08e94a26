//! Events from outside, defined before the workflow runs.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::Serialize;

use super::{streams::TestStreams, world::TestObjects};
use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    handler::HandlerEntry,
    payload::{self, Payload},
};

/// Produces the outcome of a promise from its id.
pub(super) type Settler = Box<dyn FnMut(&str) -> wit::Outcome + Send>;

/// The identification of a promise in a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PromiseSelector {
    /// By name, or by whole id.
    Named(String),
    /// The n-th promise without a name, from 0.
    Unnamed(usize),
    /// A promise of an object, by the object and the name.
    OfObject(String, String),
}

pub(super) struct PromisePlan {
    pub(super) which: PromiseSelector,
    pub(super) after: Duration,
    pub(super) settler: Settler,
}

/// A query or an update, from its definition to its answer.
pub(super) struct HandlerExchange {
    pub(super) entry: HandlerEntry,
    pub(super) input: Payload,
    pub(super) after: Duration,
    pub(super) outcome: Option<wit::Outcome>,
}

/// An event at some time after the workflow's start.
pub(super) enum Arrival {
    /// A signal or a cancellation.
    Event {
        after: Duration,
        event: wit::Event,
    },
    Ask(Arc<Mutex<HandlerExchange>>),
}

/// All events from outside, and the objects.
#[derive(Default)]
pub(super) struct TestScenario {
    pub(super) promises: Vec<PromisePlan>,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) objects: TestObjects,
    /// The streams of objects, which are kept for the next run.
    pub(super) object_streams: TestStreams,
}

/// A plan for settling a promise. Created by [`Test::promise`](super::Test::promise).
#[must_use = "say `resolve`, `reject` or `settle_with`"]
pub struct PromiseScript<'a> {
    pub(super) scenario: &'a mut TestScenario,
    pub(super) which: PromiseSelector,
    pub(super) after: Duration,
}

impl PromiseScript<'_> {
    /// Delays the settlement by this time after the creation of the promise, or, for one of an
    /// object, after the start.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }

    /// Resolves the promise with this value.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn resolve<T: Serialize + ?Sized>(self, value: &T) {
        let payload = payload::encode("the value of a promise", value)
            .unwrap_or_else(|error| panic!("{error}"));
        self.plan(Box::new(move |_| wit::Outcome::Success(payload.clone())));
    }

    /// Rejects the promise.
    pub fn reject(self, error: Error) {
        let failure = error.into_failure();
        self.plan(Box::new(move |_| wit::Outcome::Failure(failure.clone())));
    }

    /// Settles the promise with the result of `settle`, which is called with its id when it is due.
    pub fn settle_with<T: Serialize>(
        self,
        mut settle: impl FnMut(&str) -> Result<T> + Send + 'static,
    ) {
        let settler = move |id: &str| match settle(id)
            .and_then(|value| payload::encode("the value of a promise", &value))
        {
            Ok(payload) => wit::Outcome::Success(payload),
            Err(error) => wit::Outcome::Failure(error.into_failure()),
        };
        self.plan(Box::new(settler));
    }

    fn plan(self, settler: Settler) {
        let plan = PromisePlan { which: self.which, after: self.after, settler };
        // The last definition for a promise applies.
        self.scenario.promises.retain(|known| known.which != plan.which);
        self.scenario.promises.push(plan);
    }
}

/// A plan for a signal's arrival; by default at the start. Created by
/// [`Test::signal`](super::Test::signal).
pub struct SignalScript<'a>(pub(super) &'a mut Duration);

impl SignalScript<'_> {
    /// Delays the signal by this time after the start.
    pub fn after(self, delay: Duration) {
        *self.0 = delay;
    }
}
