//! Invariants of the queues of objects.

use std::collections::BTreeMap;

use super::{Predicate, Violations};
use crate::{
    fork,
    id::{ObjectId, PromiseId},
    promise::{Promise, TaskStatus},
    snapshot::Snapshot,
    tags,
    transition::turn_in,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("one_holder_an_object", one_holder_an_object),
    ("a_line_has_one_start", a_line_has_one_start),
    ("a_line_has_one_end", a_line_has_one_end),
    ("a_key_has_one_run", a_key_has_one_run),
    ("promises_of_objects_have_their_ids", promises_of_objects_have_their_ids),
];

/// Of the pending executions that need an object's turn, only the holder has begun.
fn one_holder_an_object(rows: &Snapshot) -> Violations {
    let begun = |promise: &Promise| {
        let id = promise.id();
        let acquired = rows.tasks.get(id).is_some_and(|task| task.status() == TaskStatus::Acquired);
        let born_with = fork::born_with(promise);
        acquired || rows.journals.get(id).is_some_and(|journal| journal.head.len > born_with)
    };
    let pending = rows.promises.values().filter(|promise| promise.is_pending());
    let wrong = pending.filter_map(|promise| {
        let (id, object) = (promise.id(), turn_in(promise)?);
        let holder = rows.lines.get(&object).and_then(|line| line.holder.as_ref());
        (begun(promise) && holder != Some(id))
            .then(|| (vec![id.clone()], format!("it has begun, and {holder:?} holds `{object}`")))
    });
    wrong.collect()
}

/// At most one execution of an object may run: the holder, or the head of the queue if the holder
/// has settled.
fn a_line_has_one_start(rows: &Snapshot) -> Violations {
    let promise = |id: &PromiseId| rows.promises.get(id);
    let mut behind: BTreeMap<&PromiseId, bool> = BTreeMap::new();
    for (ahead, by) in rows.callbacks.keys() {
        let (Some(ahead), Some(turn)) = (promise(ahead), promise(by).and_then(turn_in)) else {
            continue;
        };
        if turn_in(ahead) == Some(turn) {
            *behind.entry(by).or_default() |= ahead.is_pending();
        }
    }
    let mut next: BTreeMap<ObjectId, Vec<PromiseId>> = BTreeMap::new();
    for promise in rows.promises.values().filter(|promise| promise.is_pending()) {
        let (id, Some(object)) = (promise.id(), turn_in(promise)) else { continue };
        let is_holder = rows.lines.get(&object).is_some_and(|line| line.is_held_by(id));
        if is_holder || behind.get(id) == Some(&false) {
            next.entry(object).or_default().push(id.clone());
        }
    }
    let wrong = next.into_iter().filter(|(_, ids)| ids.len() > 1);
    wrong.map(|(object, ids)| (ids, format!("each is the next of `{object}`"))).collect()
}

/// An execution that waits for a turn waits for exactly one predecessor, no other execution waits
/// for the same one, and none is behind the last.
fn a_line_has_one_end(rows: &Snapshot) -> Violations {
    let mut behind: BTreeMap<&PromiseId, (ObjectId, Vec<PromiseId>)> = BTreeMap::new();
    let turn = |id: &PromiseId| {
        rows.promises.get(id).filter(|promise| promise.is_pending()).and_then(turn_in)
    };
    for (ahead, by) in rows.callbacks.keys() {
        let Some(object) = turn(by).filter(|object| turn(ahead).as_ref() == Some(object)) else {
            continue;
        };
        let is_holder = rows.lines.get(&object).is_some_and(|line| line.is_held_by(by));
        if !is_holder {
            behind.entry(ahead).or_insert((object, Vec::new())).1.push(by.clone());
        }
    }
    let mut found = Violations::new();
    for (ahead, (object, by)) in behind {
        let tail = rows.lines.get(&object).map(|line| &line.tail);
        if by.len() > 1 || tail == Some(ahead) {
            found
                .push((vec![ahead.clone()], format!("{by:?} are behind it, the last is {tail:?}")));
        }
    }
    found
}

/// The row of an object names its run as long as the run exists, and there is no other run.
fn a_key_has_one_run(rows: &Snapshot) -> Violations {
    let is_run = |id: &PromiseId| {
        rows.promises.get(id).is_some_and(|promise| tags::is_run(&promise.spec.tags))
    };
    let mut found = Violations::new();
    for promise in rows.promises.values().filter(|promise| is_run(promise.id())) {
        let (id, object) = (promise.id(), turn_in(promise));
        let run = object.as_ref().and_then(|object| rows.lines.get(object)?.run.as_ref());
        if run != Some(id) {
            found.push((vec![id.clone()], format!("it is a run of {object:?}, which has {run:?}")));
        }
    }
    for (object, line) in &rows.lines {
        if let Some(run) = line.run.as_ref().filter(|run| !is_run(run)) {
            found
                .push((vec![run.clone()], format!("`{object}` has it as its run, and it is none")));
        }
    }
    found
}

/// A named promise of an object has an id derived from the name, and no target.
fn promises_of_objects_have_their_ids(rows: &Snapshot) -> Violations {
    let promises = rows.promises.values().filter_map(|promise| {
        let object = ObjectId::from(tags::object(&promise.spec.tags)?);
        let fits = object.name_of(promise.id()).is_some() && promise.target().is_none();
        (!fits).then(|| (vec![promise.id().clone()], format!("it says that it is of `{object}`")))
    });
    promises.collect()
}
