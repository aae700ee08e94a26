//! Queries and updates of the workflow under test.

use std::sync::{Arc, Mutex};

use super::{TestAction, TestWorld, failure, null};
use crate::{
    bindings::{exports::segno::workflow::handlers::HandlerKind, segno::workflow::types as wit},
    error::Error,
    testing::{asked::check_list, recorder::lock, scenario::HandlerExchange},
    time::millis,
    update,
};

impl TestWorld<'_> {
    /// Schedules a query or an update for `root`.
    pub(super) fn expect_ask(&mut self, root: &str, ask: Arc<Mutex<HandlerExchange>>) {
        let at_ms = self.now_ms + millis(lock(&ask).after);
        self.decide(at_ms, TestAction::Ask { invocation: root.to_owned(), ask });
    }

    /// Answers a query; accepts or refuses an update.
    pub(super) fn ask(&mut self, id: &str, ask: &Arc<Mutex<HandlerExchange>>) {
        let (entry, input) = {
            let ask = lock(ask);
            (ask.entry, ask.input.clone())
        };
        let running = self.invocations.get_mut(id).expect("it began before anything was asked");
        match &self.module {
            Some(module) if self.listed.is_some() => check_list(module, &entry),
            _ => running.execution.handlers().learn(entry),
        }
        let answer = match entry.kind() {
            HandlerKind::Query => Some(running.execution.query(entry.name, &input)),
            HandlerKind::Update => {
                running.execution.validate(entry.name, &input).err().map(wit::Outcome::Failure)
            }
        };
        if answer.is_some() {
            lock(ask).outcome = answer;
            return;
        }
        let promise = format!("{id}/a/{}", self.updates.len());
        let event = update::event(entry.name, &promise, &input);
        self.updates.insert(promise, ask.clone());
        self.tell(id, event);
    }

    /// Answers an update, if the promise belongs to one. Returns the answer for the settling party.
    pub(super) fn settle_update(
        &mut self,
        promise: &str,
        outcome: &wit::Outcome,
    ) -> Option<wit::Outcome> {
        lock(self.updates.get(promise)?).outcome.get_or_insert_with(|| outcome.clone());
        Some(null())
    }

    /// Cancels the updates that were unanswered when the workflow ended.
    pub(super) fn cancel_updates(&mut self) {
        for ask in self.updates.values() {
            lock(ask).outcome.get_or_insert_with(|| failure(Error::cancelled()));
        }
    }
}
