//! Updates. A workflow that had seen all records and signals was asked to validate the update; the
//! update is accepted if it has still seen all of them.

use super::draft::DecisionDraft;
use crate::{
    graph,
    id::{PromiseId, check_name, fits},
    keyed_request::RequestParts,
    promise::{Promise, Task},
    reply::{Conflict, Refusal, Reply},
    update,
    value::Text,
};

/// The state that the asked workflow had seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenPosition {
    pub(super) records: u32,
    pub(super) signals: u32,
}

pub(super) fn update(
    draft: &mut DecisionDraft<'_>,
    invocation: &PromiseId,
    name: &Text,
    input: &Text,
    key: Option<&Text>,
    seen: SeenPosition,
) -> Result<Reply, Refusal> {
    draft.touch(invocation);
    draft.existing(invocation)?;
    let sender_key = key;
    let key = key.map(|key| update::signal_key(name, key));
    if let Some(reply) = key.as_ref().and_then(|key| draft.signalled_before(invocation, key)) {
        let first = draft.first_signal(&reply).and_then(sent);
        if let (Some(first), Some(key)) = (first, sender_key) {
            let given = RequestParts::new().data("input", input.as_bytes());
            given.repeats(&first, "the key", key)?;
        }
        return Ok(reply);
    }
    check_name("the name of the update", name)?;
    sender_key.map_or(Ok(()), |key| check_name("the key of the update", key))?;
    key.as_ref().map_or(Ok(()), |key| fits("the key of the update, with its name,", key))?;
    let newest = draft.newest(invocation);
    draft.touch(&newest);
    let promise = draft.existing(&newest)?;
    if !promise.is_pending() {
        return Err(Conflict::PromiseSettled(invocation.clone()).into());
    }
    if newest != *invocation {
        // Another generation was asked.
        let current = draft.head(&newest).len;
        return Err(Conflict::JournalGrew { id: newest, given: seen.records, current }.into());
    }
    let is_run = graph::is_run(promise);
    let Some(task) = draft.task(invocation).filter(|task| task.module.is_some() && !is_run) else {
        return Err(Refusal::Unprocessable(format!(
            "`{invocation}` takes no updates: only the workflow of a module does"
        )));
    };
    let task = task.clone();
    let current = draft.view.head(invocation).len;
    let unread = task.signals.saturating_sub(seen.signals);
    if current != seen.records || unread > 0 {
        let (id, given, current) = (invocation.clone(), seen.records, current + unread);
        return Err(Conflict::JournalGrew { id, given, current }.into());
    }
    let answer = invocation.answer(task.signals);
    let payload = update::payload(&answer, input).map_err(|reason| {
        Refusal::BadRequest(format!("the input of the update `{name}` is not JSON: {reason}"))
    })?;
    if draft.promise(&answer).is_some() {
        return Err(Refusal::IdTaken { id: answer });
    }
    // Created on behalf of the workflow, with its deadline: when the workflow ends, unanswered
    // updates are cancelled.
    draft.make_own(&task, &answer)?;
    let n = draft.send(&task, &update::signal_name(name), &payload)?;
    let task = draft.existing_task(invocation)?.clone();
    draft.put_task(Task { children: true, ..task });
    if let Some(key) = key {
        draft.note_key(invocation, &key, n);
    }
    Ok(Reply::signalled(newest, n))
}

/// The compared parts of the update in this signal's promise. Its name is already part of the key.
fn sent(promise: &Promise) -> Option<RequestParts> {
    let value = promise.settlement()?.value.as_ref()?;
    Some(RequestParts::new().json("input", &update::input_in(&value.data)?))
}
