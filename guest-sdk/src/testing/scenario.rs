//! What will happen to the workflow from outside, said before it runs.

use std::time::Duration;

use serde::Serialize;

use crate::bindings::segno::workflow::types as wit;
use crate::error::{Error, Result};
use crate::payload;

/// What settles a promise, given its id.
pub(super) type Settler = Box<dyn FnMut(&str) -> wit::Outcome + Send>;

/// How promises are found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Which {
    /// By name, or by whole id.
    Named(String),
    /// The n-th promise without a name, from 0.
    Unnamed(usize),
}

pub(super) struct PromisePlan {
    pub(super) which: Which,
    pub(super) after: Duration,
    pub(super) settler: Settler,
}

/// What comes to the workflow under test at some time after its start.
pub(super) struct Arrival {
    pub(super) after: Duration,
    pub(super) event: wit::Event,
}

/// Everything that will happen.
#[derive(Default)]
pub(super) struct Scenario {
    pub(super) promises: Vec<PromisePlan>,
    pub(super) arrivals: Vec<Arrival>,
}

/// Says how a promise will be settled. Made by [`Test::promise`](super::Test::promise).
#[must_use = "say `resolve`, `reject` or `settle_with`"]
pub struct PromiseScript<'a> {
    pub(super) scenario: &'a mut Scenario,
    pub(super) which: Which,
    pub(super) after: Duration,
}

impl PromiseScript<'_> {
    /// Not at once, but this long after the promise was made.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }

    /// Gives it this value.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn resolve<T: Serialize + ?Sized>(self, value: &T) {
        let payload = payload::encode("the value of a promise", value)
            .unwrap_or_else(|error| panic!("{error}"));
        self.plan(Box::new(move |_| wit::Outcome::Success(payload.clone())));
    }

    /// Rejects it.
    pub fn reject(self, error: Error) {
        let failure = error.into_failure();
        self.plan(Box::new(move |_| wit::Outcome::Failure(failure.clone())));
    }

    /// Asks `settle` when the time has come; it is given the promise's id.
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
        // What is said last about a promise holds.
        self.scenario.promises.retain(|known| known.which != plan.which);
        self.scenario.promises.push(plan);
    }
}

/// Says when a signal comes. Made by [`Test::signal`](super::Test::signal); at once if nothing more is said.
pub struct SignalScript<'a>(pub(super) &'a mut Arrival);

impl SignalScript<'_> {
    /// Not at once, but this long after the start.
    pub fn after(self, delay: Duration) {
        self.0.after = delay;
    }
}
