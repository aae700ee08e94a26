//! Signals: messages to an invocation from outside, numbered in order of arrival. The n-th is the
//! promise `{invocation}/s/{n}`, so a signal is awaited like any other promise.

use segno_graph::{InvalidName, NodeName};

use super::{
    create::{PromiseCreator, settled_at},
    draft::DecisionDraft,
};
use crate::{
    graph,
    id::{PromiseId, check_name, fits},
    keyed_request::RequestParts,
    promise::{NewPromise, Promise, Settlement, Task, Verdict},
    reply::{Conflict, Refusal, Reply},
    tags, update,
    value::{Tags, Text, Value},
};

pub(super) fn signal(
    draft: &mut DecisionDraft<'_>,
    invocation: &PromiseId,
    name: &Text,
    payload: &Value,
    key: Option<&Text>,
) -> Result<Reply, Refusal> {
    if let Some(taken) = [Some(name), key].into_iter().flatten().find(|text| is_reserved(text)) {
        return Err(Refusal::BadRequest(format!(
            "`{taken}` begins with `{}`: such names and keys of signals are the engine's",
            update::RESERVED
        )));
    }
    if let Some(key) = key
        && let Some(reply) = draft.signalled_before(invocation, key)
    {
        let first = draft.first_signal(&reply).and_then(sent);
        first.map_or(Ok(()), |first| parts(name, payload).repeats(&first, "the key", key))?;
        return Ok(reply);
    }
    check_name("the name of the signal", name)?;
    key.map_or(Ok(()), |key| check_name("the key of the signal", key))?;
    signal_once(draft, invocation, name, payload, key)
}

/// Sends a signal, unless one was sent under this key.
pub(super) fn signal_once(
    draft: &mut DecisionDraft<'_>,
    invocation: &PromiseId,
    name: &Text,
    payload: &Value,
    key: Option<&Text>,
) -> Result<Reply, Refusal> {
    draft.touch(invocation);
    draft.existing(invocation)?;
    if let Some(reply) = key.and_then(|key| draft.signalled_before(invocation, key)) {
        return Ok(reply);
    }
    key.map_or(Ok(()), |key| fits("the key of the signal", key))?;
    let newest = draft.newest(invocation);
    draft.touch(&newest);
    if !draft.is_pending(&newest) {
        return Err(Conflict::PromiseSettled(invocation.clone()).into());
    }
    let Some(task) = draft.task(&newest).cloned() else {
        return Err(Refusal::Unprocessable(format!(
            "`{invocation}` is not an invocation: nothing hears its signals"
        )));
    };
    if graph::is_run(draft.existing(invocation)?) {
        return draft.signal_run(&task, name, payload);
    }
    let n = draft.send(&task, name, payload)?;
    if let Some(key) = key {
        draft.note_key(invocation, key, n);
    }
    Ok(Reply::signalled(newest, n))
}

/// Executes [`Command::SignalStart`](crate::command::Command::SignalStart).
pub(super) fn signal_start(
    draft: &mut DecisionDraft<'_>,
    new: &NewPromise,
    name: &Text,
    payload: &Value,
    key: Option<&Text>,
) -> Result<Reply, Refusal> {
    draft.touch(&new.id);
    let mark = draft.mark();
    let created = draft.create(new)?;
    match signal(draft, &new.id, name, payload, key) {
        Ok(Reply::Signalled { invocation, n, .. }) => {
            Ok(Reply::Signalled { invocation, n, started: created })
        }
        other => {
            draft.go_back(mark);
            other
        }
    }
}

fn is_reserved(text: &str) -> bool {
    text.starts_with(update::RESERVED)
}

/// Name of the row with the generation that received the signal of a key, if that is not the first.
pub(crate) fn generation_key(key: &Text) -> Text {
    Text::from(format!("{}generation/{key}", update::RESERVED))
}

/// The compared parts of a repeated signal.
fn parts(name: &str, payload: &Value) -> RequestParts {
    RequestParts::new().text("name", name).data("payload", &payload.data)
}

/// The compared parts of a sent signal. `None` if the promise is not a signal.
fn sent(promise: &Promise) -> Option<RequestParts> {
    let value = promise.settlement()?.value.as_ref()?;
    Some(parts(value.headers.get(tags::SIGNAL_HEADER)?, value))
}

impl DecisionDraft<'_> {
    /// The reply for the signal that was sent earlier under this key.
    pub(super) fn signalled_before(&self, invocation: &PromiseId, key: &Text) -> Option<Reply> {
        let first = self.first_generation(invocation);
        let n = self.view.signal_key(&first, key)?;
        let generation = self.view.signal_key(&first, &generation_key(key));
        let invocation = generation.map_or_else(|| first.clone(), |n| first.generation(n));
        Some(Reply::signalled(invocation, n))
    }

    /// The promise of the signal that a reply names.
    pub(super) fn first_signal(&self, reply: &Reply) -> Option<&Promise> {
        let Reply::Signalled { invocation, n, .. } = reply else { return None };
        self.promise(&invocation.signal(*n))
    }

    /// Stores the key of a signal that was sent to the newest generation. Keys outlive generations.
    pub(super) fn note_key(&mut self, invocation: &PromiseId, key: &Text, n: u32) {
        let first = self.first_generation(invocation);
        let generations = self.task(&first).map_or(0, |task| task.successors);
        if generations > 0 {
            let of = (first.clone(), generation_key(key));
            self.delta.signal_keys.insert(of, generations.saturating_add(1));
        }
        self.delta.signal_keys.insert((first, key.clone()), n);
    }

    /// Sends the next signal. Returns its number.
    pub(super) fn send(
        &mut self,
        task: &Task,
        name: &Text,
        payload: &Value,
    ) -> Result<u32, Refusal> {
        let n = task.signals;
        let id = task.id.signal(n);
        match self.promise(&id) {
            None => self.make_own(task, &id)?,
            Some(stored)
                if stored.spec.made_by.as_ref() == Some(&task.id) && stored.is_pending() => {}
            Some(_) => return Err(Refusal::IdTaken { id }),
        }
        self.deliver(&id, name, payload)?;
        // The settlement may have resumed the task: read it again.
        let task = self.existing_task(&task.id)?.clone();
        self.put_task(Task { signals: n.saturating_add(1), ..task });
        Ok(n)
    }

    /// Sends a signal to a graph run. Such signals have names, and one payload each.
    fn signal_run(&mut self, task: &Task, name: &Text, payload: &Value) -> Result<Reply, Refusal> {
        let id = task.id.run_signal(name);
        if let Err(refused) = NodeName::new(name) {
            let InvalidName(name) = refused;
            return Err(Refusal::BadRequest(format!(
                "`{name}` is no name of a signal of a graph run: it has 1 to 64 letters, digits, `-` or `_`"
            )));
        }
        let stored = self.promise(&id);
        match stored.map(|stored| (&stored.spec.made_by, stored.settlement())) {
            None => self.make_own(task, &id)?,
            Some((maker, _)) if maker.as_ref() != Some(&task.id) => {
                return Err(Refusal::IdTaken { id });
            }
            Some((_, None)) => {}
            Some((_, Some(settlement))) => {
                let sent = settlement.value.as_ref().map(|value| parts(name, value));
                return match sent == Some(parts(name, payload)) {
                    true => Ok(Reply::signalled(task.id.clone(), 0)),
                    false => Err(Conflict::PromiseSettled(id).into()),
                };
            }
        }
        self.deliver(&id, name, payload)?;
        let task = self.existing_task(&task.id)?.clone();
        let invocation = task.id.clone();
        self.put_task(Task { children: true, ..task });
        Ok(Reply::signalled(invocation, 0))
    }

    /// Creates a promise on behalf of the invocation, with the same deadline.
    pub(super) fn make_own(&mut self, task: &Task, id: &PromiseId) -> Result<(), Refusal> {
        let timeout_at = self.existing(&task.id)?.spec.timeout_at;
        let new =
            NewPromise { id: id.clone(), param: Value::default(), tags: Tags::new(), timeout_at };
        self.make(&new, PromiseCreator::Invocation(task), None)
    }

    fn deliver(&mut self, id: &PromiseId, name: &Text, payload: &Value) -> Result<(), Refusal> {
        let settled_at = settled_at(self.existing(id)?, self.now);
        let mut value = payload.clone();
        value.headers.insert(tags::SIGNAL_HEADER.to_owned(), name.to_string());
        self.settle(
            id,
            Settlement { verdict: Verdict::Resolved, value: Some(value), settled_at },
            None,
        );
        Ok(())
    }
}
