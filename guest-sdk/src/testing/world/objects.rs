//! Objects in a test: their state, and whose turn it is.

use std::collections::{BTreeMap, VecDeque};

use super::{World, null};
use crate::{
    bindings::segno::workflow::types as wit, function::Entry, journal::Request,
    object::ObjectAccess, payload::Payload,
};

/// All objects of a test, as calls name them: `OBJECT@KEY`, behind the name of their module if they
/// are of another one.
#[derive(Default)]
pub(in crate::testing) struct Objects(BTreeMap<String, Object>);

#[derive(Default)]
struct Object {
    state: BTreeMap<String, Payload>,
    /// Whose turn it is.
    holder: Option<String>,
    line: VecDeque<Waiting>,
}

/// An invocation that waits for its turn.
struct Waiting {
    id: String,
    entry: Entry,
    input: Payload,
    parent: Option<(String, u32)>,
}

/// The object of an invocation.
#[derive(Clone)]
pub(super) struct OwnObject {
    /// As the call named it.
    path: String,
    pub(super) key: String,
}

/// A call of a function of an object.
pub(super) struct Keyed {
    pub(super) object: OwnObject,
    /// The name of the function in its module.
    pub(super) name: String,
}

impl Keyed {
    /// Reads `OBJECT@KEY/FUNCTION`, alone or behind `wasm://MODULE/`.
    pub(super) fn parse(function: &str) -> Option<Self> {
        let path = match function.strip_prefix("wasm://") {
            Some(rest) => rest.split_once('/')?.1,
            None if function.contains("://") => return None,
            None => function,
        };
        let (kind, rest) = path.split_once('@')?;
        let (key, method) = rest.rsplit_once('/')?;
        let (path, _) = function.rsplit_once('/')?;
        let object = OwnObject { path: path.to_owned(), key: key.to_owned() };
        Some(Self { object, name: format!("{kind}/{method}") })
    }
}

impl Objects {
    pub(in crate::testing) fn set(&mut self, object: &str, name: &str, value: Payload) {
        self.0.entry(object.to_owned()).or_default().state.insert(name.to_owned(), value);
    }

    pub(in crate::testing) fn get(&self, object: &str, name: &str) -> Option<&Payload> {
        self.0.get(object)?.state.get(name)
    }
}

impl World<'_> {
    /// Begins a function of an object, or puts it at the end of the line.
    pub(super) fn enter(
        &mut self,
        id: String,
        entry: Entry,
        input: Payload,
        parent: Option<(String, u32)>,
        object: OwnObject,
    ) {
        if entry.access == Some(ObjectAccess::Exclusive) {
            let place = self.scenario.objects.0.entry(object.path.clone()).or_default();
            if place.holder.is_some() {
                place.line.push_back(Waiting { id, entry, input, parent });
                return;
            }
            place.holder = Some(id.clone());
        }
        self.begin_of(id, entry, input, parent, Some(object));
    }

    /// After the end of an invocation: if it had the turn of an object, the next one has it.
    pub(super) fn leave(&mut self, id: &str) {
        let Some(object) = self.invocations[id].object.clone() else { return };
        let Some(place) = self.scenario.objects.0.get_mut(&object.path) else { return };
        if place.holder.as_deref() != Some(id) {
            return;
        }
        let next = place.line.pop_front();
        place.holder = next.as_ref().map(|next| next.id.clone());
        if let Some(Waiting { id, entry, input, parent }) = next {
            self.begin_of(id, entry, input, parent, Some(object));
        }
    }

    /// Carries out a command about the state of the invocation's object.
    pub(super) fn perform_on_state(&mut self, id: &str, command: u32, request: Request) {
        let running = &self.invocations[id];
        let name = running.entry.name;
        let Some(object) = &running.object else {
            panic!("`{name}` is no function of an object, and has no state");
        };
        let is_shared = running.entry.access == Some(ObjectAccess::Shared);
        let place = self.scenario.objects.0.entry(object.path.clone()).or_default();
        let refuse_shared = || assert!(!is_shared, "`{name}` is shared, and writes: it only reads");
        let value = match request {
            Request::GetState { name } => match place.state.get(&name) {
                Some(value) => wit::Outcome::Success(value.clone()),
                None => null(),
            },
            Request::StateNames => {
                let names: Vec<&String> = place.state.keys().collect();
                let json = serde_json::to_string(&names).expect("texts are JSON");
                wit::Outcome::Success(Payload::Json(json))
            }
            Request::SetState { name, value } => {
                refuse_shared();
                place.state.insert(name, value);
                return;
            }
            Request::ClearState { name } => {
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
