//! Promises and signals.

use super::{TestAction, TestWorld, failure, null};
use crate::{
    bindings::segno::workflow::types as wit, error::Error, message::Message,
    testing::scenario::PromiseSelector, time::millis,
};

impl TestWorld<'_> {
    pub(super) fn promise(
        &mut self,
        id: &str,
        command: u32,
        promise: String,
        name: Option<String>,
        timeout_ms: Option<u64>,
    ) {
        let waiters = self.promises.entry(promise.clone()).or_default();
        waiters.commands.push((id.to_owned(), command));
        if let Some(outcome) = waiters.outcome.clone() {
            return self.answer(self.now_ms, id, command, outcome);
        }
        let place = self.scenario.promises.iter().position(|plan| match &plan.which {
            PromiseSelector::Named(wanted) => *wanted == promise || name.as_ref() == Some(wanted),
            PromiseSelector::Unnamed(n) => name.is_none() && *n == self.unnamed_promises,
            PromiseSelector::OfObject(..) => false,
        });
        if name.is_none() {
            self.unnamed_promises += 1;
        }
        if let Some(place) = place {
            let plan = self.scenario.promises.remove(place);
            let at_ms = self.now_ms.saturating_add(millis(plan.after));
            self.decide(at_ms, TestAction::Settle { promise, settler: plan.settler });
        }
        self.overdue(id, command, timeout_ms);
    }

    /// Settles a promise that exists and is pending. Returns the answer for the settling party.
    pub(super) fn settle(&mut self, promise: &str, outcome: wit::Outcome) -> wit::Outcome {
        if let Some(answer) = self.settle_update(promise, &outcome) {
            return answer;
        }
        let Some(waiters) = self.promises.get_mut(promise) else {
            return failure(Error::terminal(
                Error::NOT_FOUND,
                format!("`{promise}` does not exist"),
            ));
        };
        // The first settlement counts; a later one changes nothing.
        if waiters.outcome.is_none() {
            waiters.outcome = Some(outcome.clone());
            for (owner, command) in waiters.commands.clone() {
                self.answer(self.now_ms, &owner, command, outcome.clone());
            }
        }
        null()
    }

    /// Sends a signal to another invocation. Returns the answer for the sender.
    pub(super) fn send_signal(&mut self, invocation: String, signal: wit::Signal) -> wit::Outcome {
        let Some(receiver) = self.invocations.get(&self.newest(&invocation)) else {
            let message = format!("`{invocation}` does not exist");
            return failure(Error::terminal(Error::NOT_FOUND, message));
        };
        if receiver.outcome.is_some() {
            return failure(Error::terminal(409, format!("`{invocation}` has ended")));
        }
        let known: Vec<&str> =
            (receiver.entry.messages)().iter().filter_map(Message::signal_name).collect();
        let is_unknown = !known.is_empty() && !known.contains(&signal.name.as_str());
        if !(receiver.entry.describe)().signals || is_unknown {
            let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!(
                "`{called}` of `{invocation}` does not take the signal `{}`: it takes {takes}",
                signal.name,
                called = receiver.entry.name,
            );
            return failure(Error::terminal(Error::REFUSED, message));
        }
        let event = wit::Event::Signal(signal);
        self.decide(self.now_ms, TestAction::Tell { invocation, event });
        null()
    }
}
