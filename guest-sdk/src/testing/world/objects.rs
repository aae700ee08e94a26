//! Objects in a test: their state, promises and queues.

use std::collections::{BTreeMap, VecDeque};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    super::scenario::{PromisePlan, PromiseSelector},
    TestAction, TestWorld, null,
};
use crate::{
    bindings::segno::workflow::types as wit, error::Error, function::Entry,
    journal::WorkflowCommand, object::ObjectAccess, payload::Payload, time::millis,
};

/// All objects of a test by the path in calls: `OBJECT@KEY`, after the name of the module if they
/// belong to another one.
#[derive(Default)]
pub(in crate::testing) struct TestObjects(BTreeMap<String, TestObject>);

#[derive(Default)]
struct TestObject {
    state: BTreeMap<String, Payload>,
    promises: BTreeMap<String, TestPromise>,
    /// The id of the run, for an object that runs once per key.
    run: Option<String>,
    /// The invocation that has exclusive access.
    holder: Option<String>,
    line: VecDeque<QueuedCall>,
}

/// The status of a promise of an object.
enum TestPromise {
    /// Pending; these commands wait for it.
    Pending(Vec<(String, u32)>),
    Settled(wit::Outcome),
}

/// An invocation in the queue for exclusive access.
struct QueuedCall {
    id: String,
    entry: Entry,
    input: Payload,
    parent: Option<(String, u32)>,
}

/// The object of an invocation.
#[derive(Clone)]
pub(super) struct InvocationObject {
    /// The path, as in the call.
    path: String,
    pub(super) key: String,
}

impl InvocationObject {
    /// The name of a function of this object in calls.
    pub(super) fn name_of(&self, method: &str) -> String {
        format!("{}/{method}", self.path)
    }
}

/// A call of a function of an object.
pub(super) struct ObjectCall {
    pub(super) object: InvocationObject,
    /// The name of the function in its module.
    pub(super) name: String,
}

impl ObjectCall {
    /// Parses `OBJECT@KEY/FUNCTION`, alone or after `wasm://MODULE/`.
    pub(super) fn parse(function: &str) -> Option<Self> {
        let path = match function.strip_prefix("wasm://") {
            Some(rest) => rest.split_once('/')?.1,
            None if function.contains("://") => return None,
            None => function,
        };
        let (kind, rest) = path.split_once('@')?;
        let (key, method) = rest.rsplit_once('/')?;
        let (path, _) = function.rsplit_once('/')?;
        let object = InvocationObject { path: path.to_owned(), key: key.to_owned() };
        Some(Self { object, name: format!("{kind}/{method}") })
    }
}

impl TestObjects {
    pub(in crate::testing) fn set(&mut self, object: &str, name: &str, value: Payload) {
        self.0.entry(object.to_owned()).or_default().state.insert(name.to_owned(), value);
    }

    pub(in crate::testing) fn get(&self, object: &str, name: &str) -> Option<&Payload> {
        self.0.get(object)?.state.get(name)
    }

    /// The outcome of an object's promise. `None` if it is pending.
    pub(in crate::testing) fn outcome(&self, object: &str, name: &str) -> Option<&wit::Outcome> {
        match self.0.get(object)?.promises.get(name)? {
            TestPromise::Settled(outcome) => Some(outcome),
            TestPromise::Pending(_) => None,
        }
    }

    /// Registers an execution, if its function may run.
    ///
    /// # Errors
    /// The key's run has already taken place.
    pub(in crate::testing) fn accept(
        &mut self,
        id: &str,
        entry: &Entry,
        object: &str,
    ) -> Result<(), Error> {
        if !entry.runs_once {
            return Ok(());
        }
        let place = self.0.entry(object.to_owned()).or_default();
        match &place.run {
            Some(run) => Err(Error::terminal(
                409,
                format!(
                    "`{object}` has had its run, and runs once: read it by its id, `{run}`, or use another key"
                ),
            )),
            None => {
                place.run = Some(id.to_owned());
                Ok(())
            }
        }
    }

    /// Begins the next run of the test: waiting invocations of the last one are gone.
    pub(in crate::testing) fn begin(&mut self) {
        for place in self.0.values_mut() {
            for standing in place.promises.values_mut() {
                if let TestPromise::Pending(waiting) = standing {
                    waiting.clear();
                }
            }
        }
    }
}

impl TestWorld<'_> {
    /// Begins a function of an object, or appends it to the queue.
    pub(super) fn enter(
        &mut self,
        id: String,
        entry: Entry,
        input: Payload,
        parent: Option<(String, u32)>,
        object: InvocationObject,
    ) {
        if entry.access == Some(ObjectAccess::Exclusive) {
            let place = self.scenario.objects.0.entry(object.path.clone()).or_default();
            if place.holder.is_some() {
                place.line.push_back(QueuedCall { id, entry, input, parent });
                return;
            }
            place.holder = Some(id.clone());
        }
        self.begin_of(id, entry, input, parent, Some(object));
    }

    /// Processes the end of an invocation: if it had exclusive access to an object, the next one
    /// gets it.
    pub(super) fn leave(&mut self, id: &str) {
        let Some(object) = self.invocations[id].object.clone() else { return };
        let Some(place) = self.scenario.objects.0.get_mut(&object.path) else { return };
        if place.holder.as_deref() != Some(id) {
            return;
        }
        let next = place.line.pop_front();
        place.holder = next.as_ref().map(|next| next.id.clone());
        if let Some(QueuedCall { id, entry, input, parent }) = next {
            self.begin_of(id, entry, input, parent, Some(object));
        }
    }

    /// Checks that a function of an object may run, by its name in calls.
    ///
    /// # Errors
    /// The key's run has already taken place.
    pub(super) fn accept(&mut self, id: &str, function: &str) -> Result<(), Error> {
        let Some(keyed) = ObjectCall::parse(function) else { return Ok(()) };
        match self.known(&keyed.name) {
            Some(entry) => self.scenario.objects.accept(id, &entry, &keyed.object.path),
            None => Ok(()),
        }
    }

    /// Schedules the planned settlements of objects' promises, relative to now.
    pub(super) fn expect_promises_of_objects(&mut self) {
        self.scenario.objects.begin();
        for plan in std::mem::take(&mut self.scenario.promises) {
            match plan {
                PromisePlan { which: PromiseSelector::OfObject(object, name), after, settler } => {
                    let at_ms = self.now_ms.saturating_add(millis(after));
                    self.decide(at_ms, TestAction::SettleOfObject { object, name, settler });
                }
                plan => self.scenario.promises.push(plan),
            }
        }
    }

    /// Executes a command on the promises of the invocation's object.
    pub(super) fn perform_on_promises(&mut self, id: &str, command: u32, request: WorkflowCommand) {
        let running = &self.invocations[id];
        let Some(object) = running.object.clone() else {
            panic!("`{}` is no function of an object, which has promises", running.entry.name);
        };
        let outcome = match request {
            WorkflowCommand::WaitObjectPromise { name } => {
                let promises =
                    &mut self.scenario.objects.0.entry(object.path).or_default().promises;
                match promises.entry(name).or_insert_with(|| TestPromise::Pending(Vec::new())) {
                    TestPromise::Settled(outcome) => outcome.clone(),
                    TestPromise::Pending(waiting) => {
                        return waiting.push((id.to_owned(), command));
                    }
                }
            }
            WorkflowCommand::PeekObjectPromise { name } => {
                standing(self.scenario.objects.outcome(&object.path, &name))
            }
            WorkflowCommand::SettleObjectPromise { name, outcome } => {
                match self.settle_of_object(&object.path, &name, outcome) {
                    Ok(()) => wit::Outcome::Success(Payload::Json("true".to_owned())),
                    Err(refused) => wit::Outcome::Failure(refused.into_failure()),
                }
            }
            other => unreachable!("{} is about no promise of an object", other.describe()),
        };
        self.answer(self.now_ms, id, command, outcome);
    }

    /// Settles a promise of an object, creating it if it does not exist.
    ///
    /// # Errors
    /// The promise was already settled.
    pub(super) fn settle_of_object(
        &mut self,
        object: &str,
        name: &str,
        outcome: wit::Outcome,
    ) -> Result<(), Error> {
        let place = self.scenario.objects.0.entry(object.to_owned()).or_default();
        let settled = TestPromise::Settled(outcome.clone());
        let waiting = match place.promises.insert(name.to_owned(), settled) {
            None => Vec::new(),
            Some(TestPromise::Pending(waiting)) => waiting,
            Some(before @ TestPromise::Settled(_)) => {
                place.promises.insert(name.to_owned(), before);
                let message = format!("the promise `{object}/p/{name}` was settled before");
                return Err(Error::terminal(409, message));
            }
        };
        for (id, command) in waiting {
            self.answer(self.now_ms, &id, command, outcome.clone());
        }
        Ok(())
    }

    /// The reason that a command cannot be cancelled: a promise of an object does not belong to an
    /// execution.
    pub(super) fn refuse_cancel(&self, id: &str, command: u32) -> Option<Error> {
        let object = &self.invocations.get(id)?.object.as_ref()?.path;
        let promises = &self.scenario.objects.0.get(object)?.promises;
        let (name, _) = promises.iter().find(|(_, standing)| match standing {
            TestPromise::Pending(waiting) => waiting.contains(&(id.to_owned(), command)),
            TestPromise::Settled(_) => false,
        })?;
        let message = format!("`{id}` did not make `{object}/p/{name}` and cannot cancel it");
        Some(Error::terminal(422, message))
    }

    /// The path of the object whose streams the invocation writes.
    pub(super) fn object_written_by(&self, id: &str) -> String {
        let running = &self.invocations[id];
        let name = running.entry.name;
        let Some(object) = &running.object else {
            panic!("`{name}` is no function of an object, and has no streams of one");
        };
        let is_shared = running.entry.access == Some(ObjectAccess::Shared);
        assert!(!is_shared, "`{name}` is shared, and writes a stream: it only reads");
        object.path.clone()
    }

    /// Executes a command on the state of the invocation's object.
    pub(super) fn perform_on_state(&mut self, id: &str, command: u32, request: WorkflowCommand) {
        let running = &self.invocations[id];
        let name = running.entry.name;
        let Some(object) = &running.object else {
            panic!("`{name}` is no function of an object, and has no state");
        };
        let is_shared = running.entry.access == Some(ObjectAccess::Shared);
        let place = self.scenario.objects.0.entry(object.path.clone()).or_default();
        let refuse_shared = || assert!(!is_shared, "`{name}` is shared, and writes: it only reads");
        let value = match request {
            WorkflowCommand::GetState { name } => match place.state.get(&name) {
                Some(value) => wit::Outcome::Success(value.clone()),
                None => null(),
            },
            WorkflowCommand::StateNames => {
                let names: Vec<&String> = place.state.keys().collect();
                let json = serde_json::to_string(&names).expect("texts are JSON");
                wit::Outcome::Success(Payload::Json(json))
            }
            WorkflowCommand::SetState { name, value } => {
                refuse_shared();
                place.state.insert(name, value);
                return;
            }
            WorkflowCommand::ClearState { name } => {
                refuse_shared();
                place.state.remove(&name);
                return;
            }
            _ => {
                refuse_shared();
                place.state.clear();
                return;
            }
        };
        self.answer(self.now_ms, id, command, value);
    }
}

/// The status of a promise, in the host's encoding.
fn standing(outcome: Option<&wit::Outcome>) -> wit::Outcome {
    let json = match outcome {
        None => "null".to_owned(),
        Some(wit::Outcome::Success(Payload::Json(json))) => format!("{{\"resolved\":{json}}}"),
        Some(wit::Outcome::Success(Payload::Bytes(bytes))) => {
            json!({ "resolved_base64": BASE64_STANDARD.encode(bytes) }).to_string()
        }
        Some(wit::Outcome::Failure(failure)) => {
            let details = match &failure.details {
                Some(Payload::Json(json)) => serde_json::from_str(json).ok(),
                Some(Payload::Bytes(bytes)) => {
                    Some(json!({ "base64": BASE64_STANDARD.encode(bytes) }))
                }
                None => None::<serde_json::Value>,
            };
            let (code, message) = (failure.code, &failure.message);
            json!({ "rejected": { "code": code, "message": message, "details": details } })
                .to_string()
        }
    };
    wit::Outcome::Success(Payload::Json(json))
}
