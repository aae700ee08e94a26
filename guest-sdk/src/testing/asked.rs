//! Queries and updates in a test.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    recorder::lock,
    scenario::{Arrival, HandlerExchange},
    test::Test,
};
use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    handler::{Handler, HandlerEntry, QueryItem, UpdateItem, word},
    module::Module,
    payload,
};

/// A query or an update that is sent while the workflow runs; by default at its start. Created by
/// [`Test::ask`] and [`Test::update`].
pub struct Asked<T> {
    what: String,
    ask: Arc<Mutex<HandlerExchange>>,
    answer: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Asked<T> {
    /// Delays the query or update by this time after the start.
    pub fn after(self, delay: Duration) -> Self {
        lock(&self.ask).after = delay;
        self
    }

    /// Returns the answer, after the run.
    ///
    /// # Errors
    /// The failure with which it was refused or answered. Code 499 for an update that the workflow
    /// had not answered when it ended.
    ///
    /// # Panics
    /// If it was not sent because the workflow ended before.
    pub fn answer(&self) -> Result<T> {
        let ask = lock(&self.ask);
        let what = &self.what;
        match &ask.outcome {
            Some(outcome) => read(what, outcome.clone()),
            None => panic!("{what} was not sent: the workflow was not run, or ended before"),
        }
    }
}

fn read<T: DeserializeOwned>(what: &str, outcome: wit::Outcome) -> Result<T> {
    match outcome {
        wit::Outcome::Success(payload) => {
            payload::decode(&format!("the answer of {what}"), &payload)
        }
        wit::Outcome::Failure(failure) => Err(Error::from_failure(failure)),
    }
}

impl Test {
    /// Schedules a query while the workflow runs: `test.ask(step, &()).after(…)`.
    ///
    /// # Panics
    /// If the input cannot be written as JSON.
    pub fn ask<A, I: QueryItem<A>>(
        &mut self,
        query: I,
        input: &<I::Query as Handler>::Input,
    ) -> Asked<<I::Query as Handler>::Output>
    where
        <I::Query as Handler>::Input: Serialize,
        <I::Query as Handler>::Output: DeserializeOwned,
    {
        self.schedule(HandlerEntry::of_query(query), input)
    }

    /// Schedules an update of the workflow: `test.update(add_note, &text).after(…)`.
    ///
    /// # Panics
    /// If the input cannot be written as JSON.
    pub fn update<A, I: UpdateItem<A>>(
        &mut self,
        update: I,
        input: &<I::Update as Handler>::Input,
    ) -> Asked<<I::Update as Handler>::Output>
    where
        <I::Update as Handler>::Input: Serialize,
        <I::Update as Handler>::Output: DeserializeOwned,
    {
        self.schedule(HandlerEntry::of_update(update), input)
    }

    /// Schedules a query or an update of a workflow of a module, by its name; a query if it has both.
    ///
    /// # Panics
    /// If the workflow has no such handler.
    pub fn ask_named(
        &mut self,
        module: &Module,
        workflow: &str,
        handler: &str,
        input: &Value,
    ) -> Asked<Value> {
        let is_it = |it: &&HandlerEntry| it.function == workflow && it.name == handler;
        let entry = module.handlers.iter().find(is_it).copied();
        let entry = entry.unwrap_or_else(|| panic!("`{workflow}` has no handler `{handler}`"));
        self.schedule(entry, input)
    }

    fn schedule<In: Serialize, Out>(&mut self, entry: HandlerEntry, input: &In) -> Asked<Out> {
        let what = format!("{} `{}`", word(entry.kind()), entry.name);
        let input = payload::encode(&format!("the input of {what}"), input)
            .unwrap_or_else(|error| panic!("{error}"));
        let ask = HandlerExchange { entry, input, after: Duration::ZERO, outcome: None };
        let ask = Arc::new(Mutex::new(ask));
        self.scenario.arrivals.push(Arrival::Ask(ask.clone()));
        Asked { what, ask, answer: PhantomData }
    }

    /// Sends a query after the run, to the workflow in its final state.
    ///
    /// # Errors
    /// The failure of the query.
    ///
    /// # Panics
    /// If there was no run yet, or the workflow is in the list of its module and the query is not.
    pub fn query<A, I: QueryItem<A>>(
        &self,
        query: I,
        input: &<I::Query as Handler>::Input,
    ) -> Result<<I::Query as Handler>::Output>
    where
        <I::Query as Handler>::Input: Serialize,
        <I::Query as Handler>::Output: DeserializeOwned,
    {
        let entry = HandlerEntry::of_query(query);
        let what = format!("query `{}`", entry.name);
        let input = payload::encode(&format!("the input of {what}"), input)?;
        let report = self.report();
        let mut handlers = report.handlers.clone();
        match &report.listing {
            Some(module) => check_list(module, &entry),
            None => handlers.learn(entry),
        }
        read(&what, handlers.query(&report.invocation, entry.name, &input))
    }
}

/// Panics for a handler that `segno::module!` does not list: a test could run it, but a host could
/// not.
pub(super) fn check_list(module: &Module, entry: &HandlerEntry) {
    assert!(
        module.lists(entry),
        "{} `{}` of `{}` is not in the list of the module: a host would answer 404. Add its function \
         to `segno::module!`",
        word(entry.kind()),
        entry.name,
        entry.function,
    );
}
