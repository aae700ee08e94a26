//! Invariants of waiting: callbacks and listeners.

use super::{Predicate, Violations, each, unless};
use crate::{
    limit::LimitPositionState,
    promise::{Promise, TaskStatus},
    snapshot::Snapshot,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("listener_for_settled_promise", listener_for_settled_promise),
    ("suspended_no_callback", suspended_no_callback),
    ("suspended_with_consumed_callbacks", suspended_with_consumed_callbacks),
    ("callback_awaiter_no_target", callback_awaiter_no_target),
    ("callback_on_itself", callback_on_itself),
    ("unconsumed_on_settled", unconsumed_on_settled),
    ("fulfilled_has_callbacks", fulfilled_has_callbacks),
];

/// A settled promise has no listeners.
fn listener_for_settled_promise(rows: &Snapshot) -> Violations {
    let idle = rows
        .listeners
        .iter()
        .filter(|(id, _)| !rows.promises.get(id).is_some_and(Promise::is_pending));
    idle.map(|(id, address)| {
        (vec![id.clone()], format!("`{address}` listens, and it is not pending"))
    })
    .collect()
}

/// Every suspended task has a callback on an awaited promise, or waits behind a limit.
fn suspended_no_callback(rows: &Snapshot) -> Violations {
    each(&rows.tasks, |id, task| {
        let waits = rows.callbacks.keys().any(|(_, awaiter)| awaiter == id);
        let is_behind =
            rows.places.get(id).is_some_and(|it| it.state == LimitPositionState::Waiting);
        unless(task.status() != TaskStatus::Suspended || waits || is_behind, || {
            "suspended, and waits for nothing".to_owned()
        })
    })
}

/// No suspended task has a consumed callback.
fn suspended_with_consumed_callbacks(rows: &Snapshot) -> Violations {
    callbacks(rows, |_, awaiter, consumed| {
        (consumed && awaiter == Some(TaskStatus::Suspended))
            .then_some("consumed, and the awaiter is suspended")
    })
}

/// Every callback's awaiter has a target.
fn callback_awaiter_no_target(rows: &Snapshot) -> Violations {
    let target = |((_, awaiter), _): &(&(_, _), &bool)| {
        rows.promises.get(awaiter).is_some_and(|p| p.target().is_some())
    };
    let wrong = rows.callbacks.iter().filter(|callback| !target(callback));
    wrong
        .map(|((on, by), _)| (vec![on.clone(), by.clone()], "the awaiter has no target".to_owned()))
        .collect()
}

/// No promise awaits itself.
fn callback_on_itself(rows: &Snapshot) -> Violations {
    let own = rows.callbacks.keys().filter(|(awaited, awaiter)| awaited == awaiter);
    own.map(|(id, _)| (vec![id.clone()], "it waits for itself".to_owned())).collect()
}

/// A settled promise has no unconsumed callbacks.
fn unconsumed_on_settled(rows: &Snapshot) -> Violations {
    callbacks(rows, |awaited, _, consumed| {
        let pending = awaited.is_some_and(Promise::is_pending);
        (!consumed && !pending).then_some("unconsumed, and the awaited promise is not pending")
    })
}

/// A fulfilled task has no callbacks.
fn fulfilled_has_callbacks(rows: &Snapshot) -> Violations {
    callbacks(rows, |_, awaiter, _| {
        (awaiter == Some(TaskStatus::Fulfilled)).then_some("the awaiter is fulfilled")
    })
}

fn callbacks(
    rows: &Snapshot,
    wrong: impl Fn(Option<&Promise>, Option<TaskStatus>, bool) -> Option<&'static str>,
) -> Violations {
    let status = |id| rows.tasks.get(id).map(crate::promise::Task::status);
    let found = rows.callbacks.iter().filter_map(|((on, by), consumed)| {
        let detail = wrong(rows.promises.get(on), status(by), *consumed)?;
        Some((vec![on.clone(), by.clone()], detail.to_owned()))
    });
    found.collect()
}
