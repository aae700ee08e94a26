//! Calls of functions: attempts of activities and doubles, children, and their time limits.

use super::{TestAction, TestWorld, failure, objects::ObjectCall};
use crate::{
    bindings::segno::workflow::types as wit,
    error::Error,
    function::{Entry, EntryPoint},
    payload::Payload,
    plan,
    testing::{
        attempt::{AttemptSubject, PlannedAttempt},
        recorder::lock,
    },
};

impl TestWorld<'_> {
    /// The function of the crate under test with this name, if it was called by its item or is in
    /// the list.
    pub(super) fn known(&self, function: &str) -> Option<Entry> {
        let learned = lock(&self.common).learned.get(function).copied();
        learned.or_else(|| self.module.as_ref()?.find(function).copied())
    }

    #[cfg(not(feature = "graph"))]
    pub(super) fn begin_graph(&mut self, id: String, _: &Payload, _: (String, u32)) {
        panic!(
            "`{id}` is a graph, which a test runs only with the feature `graph` of the SDK; without it, add `test.on_named(\"{}\", |input| …)`",
            plan::GRAPH,
        );
    }

    /// Panics for a function that `segno::module!` does not list: a test could run it, but a host
    /// could not.
    pub(super) fn check_list(&self, does: &str, id: &str, function: &str) {
        let Some(listed) = &self.listed else { return };
        let keyed = ObjectCall::parse(function);
        let is_elsewhere =
            function.starts_with("wasm://") || (keyed.is_none() && function.contains(':'));
        let name = keyed.as_ref().map_or(function, |keyed| &keyed.name);
        if is_elsewhere || listed.contains(&name) {
            return;
        }
        // A kind of object is listed as a whole.
        let missing = keyed.as_ref().map_or(function, |keyed| {
            keyed.name.split_once('/').map_or(function, |(kind, _)| kind)
        });
        panic!(
            "`{caller}` {does} `{function}`, which is not in the list of the module: a host would answer 404. \
             Add it: `segno::module!({listed}, {missing});`",
            caller = self.name_of(id),
            listed = listed.join(", "),
        );
    }

    pub(super) fn call(
        &mut self,
        id: &str,
        command: u32,
        child: String,
        function: &str,
        input: Payload,
        options: wit::CallOptions,
    ) {
        self.check_list("calls", id, function);
        let called = function;
        let keyed = ObjectCall::parse(function);
        let function = keyed.as_ref().map_or(function, |keyed| keyed.name.as_str());
        let entry = self.known(function);
        let defaults = entry.map(|entry| (entry.describe)());
        let timeout_ms =
            options.timeout_ms.or(defaults.as_ref().and_then(|defaults| defaults.timeout_ms));
        let retry = defaults.and_then(|defaults| defaults.retry);
        let doubled = lock(&self.doubles).functions.contains_key(function);
        let body = match entry.map(|entry| (entry, entry.kind)) {
            Some((_, EntryPoint::Activity(_))) | None if doubled => {
                AttemptSubject::Double(function.to_owned())
            }
            Some((_, EntryPoint::Workflow(_))) if doubled => {
                AttemptSubject::Final(function.to_owned())
            }
            Some((entry, EntryPoint::Activity(_))) => AttemptSubject::Activity(entry),
            Some((entry, EntryPoint::Workflow(_))) => {
                if let Err(refused) = self.accept(&child, called) {
                    return self.answer(self.now_ms, id, command, failure(refused));
                }
                self.overdue(id, command, timeout_ms);
                let parent = Some((id.to_owned(), command));
                return match keyed {
                    Some(keyed) => self.enter(child, entry, input, parent, keyed.object),
                    None => self.begin(child, entry, input, parent),
                };
            }
            None if function == plan::GRAPH => {
                self.overdue(id, command, timeout_ms);
                return self.begin_graph(child, &input, (id.to_owned(), command));
            }
            None => panic!(
                "`{caller}` calls `{function}`, which this test does not define: add `test.on_named(\"{function}\", |input| …)`",
                caller = self.name_of(id),
            ),
        };
        let attempting = PlannedAttempt::new(body, input, child, &options, retry);
        self.attempt_until(id, command, attempting, timeout_ms);
    }

    pub(super) fn attempt_until(
        &mut self,
        id: &str,
        command: u32,
        attempting: PlannedAttempt,
        timeout_ms: Option<u64>,
    ) {
        self.decide(
            self.now_ms,
            TestAction::Attempt { invocation: id.to_owned(), command, attempting },
        );
        self.overdue(id, command, timeout_ms);
    }

    /// Fails the command at its deadline, unless it was answered.
    pub(super) fn overdue(&mut self, id: &str, command: u32, timeout_ms: Option<u64>) {
        if let Some(timeout_ms) = timeout_ms {
            self.answer(
                self.now_ms.saturating_add(timeout_ms),
                id,
                command,
                failure(Error::with_code(Error::TIMED_OUT, "timed out")),
            );
        }
    }

    pub(super) fn cancel(&mut self, id: &str, command: u32) {
        let child = format!("{id}/{command}");
        match self.invocations.get(&child) {
            // The workflow receives the cancellation, and determines its own outcome.
            Some(_) => self.decide(
                self.now_ms,
                TestAction::Tell { invocation: child, event: wit::Event::Cancelled },
            ),
            None => self.answer(self.now_ms, id, command, failure(Error::cancelled())),
        }
    }

    /// Runs a sent function, if this test knows it; its result is not awaited.
    pub(super) fn begin_sent(&mut self, id: String, function: &str, input: Payload) {
        let keyed = ObjectCall::parse(function);
        let function = keyed.as_ref().map_or(function, |keyed| keyed.name.as_str());
        if let Some(double) = lock(&self.doubles).functions.get_mut(function) {
            double(&input);
            return;
        }
        let Some(entry) = self.known(function) else { return };
        match entry.kind {
            EntryPoint::Workflow(_) => match keyed {
                Some(keyed) => self.enter(id, entry, input, None, keyed.object),
                None => self.begin(id, entry, input, None),
            },
            EntryPoint::Activity(_) => {
                let options = crate::call::no_options();
                let mut attempting =
                    PlannedAttempt::new(AttemptSubject::Activity(entry), input, id, &options, None);
                // A single attempt suffices: its result is not visible in this test.
                let _ = attempting.attempt(self.now_ms, &self.doubles, &self.common);
            }
        }
    }
}
