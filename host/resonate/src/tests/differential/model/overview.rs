//! Searches, and debug operations that modify the state.

use segno_core::{
    command::Command, id::PromiseId, promise::Promise, reply::Reply, time::Timestamp,
};
use serde_json::{Value as Json, json};

use super::{HostModel, ModelAnswer, ModelRefusal, ModelSuccess, fields::RequestFields, wire};

const PROMISES: [&str; 5] =
    ["pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"];
const TASKS: [&str; 5] = ["pending", "acquired", "suspended", "halted", "fulfilled"];

/// Selects promises by their stored state, and returns them in their current state.
pub(super) fn promises(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let (state, tags) = (data.may_text("state")?, data.tags("tags")?);
    let (limit, after) = data.page(100)?;
    known(state, PROMISES)?;
    let found = page(model, limit, after, |promise| {
        state.is_none_or(|state| wire::state(promise) == state)
            && tags.iter().all(|(name, value)| promise.spec.tags.get(name) == Some(value))
    });
    carry_out_deadlines(model, &found.0, now);
    let shown = found.0.iter().filter_map(|id| model.state.promise(id)).map(wire::promise);
    Ok(paged("promises", shown.collect(), found.1))
}

pub(super) fn tasks(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    let state = data.may_text("state")?;
    data.tags("tags")?;
    let (limit, after) = data.page(100)?;
    known(state, TASKS)?;
    let status_of = |id: &PromiseId| model.state.task(id).map(|task| wire::status(task.status()));
    let found = page(model, limit, after, |promise| {
        status_of(promise.id()).is_some_and(|status| state.is_none_or(|state| status == state))
    });
    let mut shown = Vec::new();
    for id in found.0 {
        match model.ask(&Command::TaskGet { id }, now)? {
            Reply::Task(task) => shown.push(wire::task(&model.state, &task.task)),
            other => panic!("{other:?} shows no task"),
        }
    }
    Ok(paged("tasks", shown, found.1))
}

pub(super) fn reset(model: &mut HostModel) -> ModelAnswer {
    model.state = super::empty();
    Ok(ModelSuccess::new("done", json!({})))
}

pub(super) fn tick(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    if data.number("time")? != now.0 {
        return Err(ModelRefusal::bad("time", "`time` differs"));
    }
    loop {
        let due = super::due(&model.state, now);
        if due.is_empty() {
            return Ok(ModelSuccess::new("done", json!([])));
        }
        for command in due {
            model.ask(&command, now)?;
        }
    }
}

/// Executes the deadlines that have passed among these promises.
pub(super) fn carry_out_deadlines(model: &mut HostModel, ids: &[PromiseId], now: Timestamp) {
    for id in ids {
        if model.state.promise(id).is_some_and(|promise| promise.is_overdue(now)) {
            let due = Command::PromiseDue { id: id.clone() };
            model.ask(&due, now).expect("a deadline is never refused");
        }
    }
}

/// Returns a page of ids, and the cursor of the next one.
fn page(
    model: &HostModel,
    limit: usize,
    after: Option<&str>,
    takes: impl Fn(&Promise) -> bool,
) -> (Vec<PromiseId>, Option<PromiseId>) {
    let after = after.map(PromiseId::from);
    let behind = |promise: &&Promise| after.as_ref().is_none_or(|after| promise.id() > after);
    let taken = model.state.promises().filter(behind).filter(|promise| takes(promise));
    let mut ids: Vec<PromiseId> = taken.map(|promise| promise.id().clone()).collect();
    let more = ids.len() > limit;
    ids.truncate(limit);
    let next = ids.last().filter(|_| more).cloned();
    (ids, next)
}

fn paged(list: &str, shown: Vec<Json>, next: Option<PromiseId>) -> ModelSuccess {
    match next {
        None => ModelSuccess::new("last-page", json!({ list: shown })),
        Some(next) => ModelSuccess::new("page", json!({ list: shown, "cursor": next.as_str() })),
    }
}

fn known(state: Option<&str>, states: [&str; 5]) -> Result<(), ModelRefusal> {
    match state.is_none_or(|state| states.contains(&state)) {
        true => Ok(()),
        false => Err(ModelRefusal::bad("state", "is no state of a")),
    }
}
