//! Removing what is finished. A tree goes as a whole: a promise that was not made under a claim,
//! and everything made by its members, detached ones included.
//!
//! **What is finished stays finished.** A settled promise never changes, its task makes nothing any
//! more, no task can begin to listen to it or to wait for it. So a tree of any size may be looked
//! at piece by piece and then removed piece by piece, from the leaves up: its root, whose id keeps
//! others from beginning anew among its remains, goes last. Each piece is looked at again when it
//! goes.
//!
//! **What an object holds** goes as a whole: with the run of its key, or with the last of its
//! executions, if that is asked for. A promise of an object never goes by itself.
//!
//! **An id that begins anew never grants a claim again**: what goes raises the version at which
//! tasks are born.

use std::collections::BTreeSet;

use super::{draft::Draft, objects};
use crate::{
    id::{ObjectId, PromiseId, Version},
    limit::LimitName,
    promise::{OutboxKey, Promise, TaskState},
    reply::{Kept, Pruned, Refusal, Reply},
    tags,
    time::Timestamp,
    value::Text,
    view::View,
};

/// By multiples of this the first version rises.
const VERSION_STRIDE: u64 = 1_024;

pub(super) fn prune(
    draft: &mut Draft<'_>,
    top: &PromiseId,
    before: Timestamp,
    part: bool,
    state: bool,
) -> Result<Reply, Refusal> {
    let pruned = match gone(draft, top, before, part, state) {
        Ok(members) => {
            let promises = members.len() as u32;
            draft.delta.first_version = above(draft.view, &members);
            let counted = members.iter().filter(|id| draft.view.tree_count(id).is_some());
            let counted = counted.map(|id| (id.clone(), None)).collect();
            draft.delta.tree_counts = counted;
            draft.delta.removed.extend(members);
            Pruned::Gone { promises }
        }
        Err(kept) => Pruned::Kept(kept),
    };
    Ok(Reply::Pruned(pruned))
}

/// The promises that go, where nothing keeps them: the tree, and the promises of objects of which
/// nothing is left then.
fn gone(
    draft: &mut Draft<'_>,
    top: &PromiseId,
    before: Timestamp,
    part: bool,
    state: bool,
) -> Result<BTreeSet<PromiseId>, Kept> {
    let mut members = removable(draft.view, top, before, part)?;
    members.extend(objects::objects_without(draft, &members, before, state)?);
    Ok(members)
}

/// The first version of later tasks, where it has to rise so that these may go: a task that is made
/// under the id of one that is gone begins above every version that was ever granted for that id,
/// so a holder, a message, a token or a warm instance of the earlier life never fits. Whole strides
/// make it rise about once in the time that trees are kept, and not with each tree.
fn above(view: &View, gone: &BTreeSet<PromiseId>) -> Option<Version> {
    let last = gone.iter().filter_map(|id| view.task(id)).map(|task| task.version).max()?;
    let first = last.0.saturating_add(1).next_multiple_of(VERSION_STRIDE);
    (last >= view.first_version()).then_some(Version(first))
}

fn removable(
    view: &View,
    top: &PromiseId,
    before: Timestamp,
    part: bool,
) -> Result<BTreeSet<PromiseId>, Kept> {
    let promise = view.promise(top).ok_or(Kept::Absent)?;
    if let Some(maker) = promise.spec.made_by.as_ref().filter(|_| !part) {
        return Err(Kept::Part { maker: maker.clone() });
    }
    if let Some(object) = tags::object(&promise.spec.tags) {
        return match part {
            false => Err(Kept::OfObject { object: ObjectId::from(object) }),
            true => obstacle_unsettled(view, top, before).map_or(Ok([top.clone()].into()), Err),
        };
    }
    obstacle(view, top, before).map_or(Ok(()), Err)?;
    let tree = view.tree(top);
    if !tree.whole {
        return Err(Kept::Large);
    }
    match tree.members.iter().find_map(|id| obstacle(view, id, before)) {
        Some(kept) => Err(kept),
        None => Ok(tree.members),
    }
}

/// What keeps this member of a tree, and with it the tree. The view holds its composite, all
/// messages about it, and the tasks of those who wait for it.
pub fn obstacle(view: &View, id: &PromiseId, before: Timestamp) -> Option<Kept> {
    let is_pending = view.promise(id).is_some_and(Promise::is_pending);
    match is_pending && !view.is_unreadable(id) {
        true => Some(Kept::Pending { id: id.clone() }),
        false => obstacle_unsettled(view, id, before),
    }
}

/// The same of what may go without an outcome.
pub(super) fn obstacle_unsettled(view: &View, id: &PromiseId, before: Timestamp) -> Option<Kept> {
    let member = || id.clone();
    if view.is_unreadable(id) {
        return Some(Kept::Unreadable { id: member() });
    }
    if view.promise(id)?.settlement().is_some_and(|settlement| settlement.settled_at > before) {
        return Some(Kept::Recent { id: member() });
    }
    if view.owes(id) || view.listeners_on(id).next().is_some() {
        return Some(Kept::Owes { id: member() });
    }
    let living = |by: &PromiseId| {
        view.task(by).is_some_and(|task| match task.state {
            TaskState::Pending { .. }
            | TaskState::Acquired { .. }
            | TaskState::Suspended
            | TaskState::Halted { .. } => true,
            TaskState::Fulfilled => false,
        })
    };
    let awaiter =
        view.callbacks_on(id).map(|(by, _)| by).find(|by| living(by) || view.is_unreadable(by));
    awaiter.map(|by| Kept::Awaited { id: member(), by: by.clone() })
}

impl View {
    /// Whether a message about this promise is owed.
    fn owes(&self, id: &PromiseId) -> bool {
        let about =
            |from: OutboxKey| self.outbox_from(&from).next().is_some_and(|key| key.promise() == id);
        self.outbox_row(&OutboxKey::Execute(id.clone())).is_some()
            || about(OutboxKey::Unblock(id.clone(), Text::default()))
            || about(OutboxKey::Event(id.clone(), crate::id::CommandIndex(0)))
            || about(OutboxKey::LeaveLimit(id.clone(), LimitName::from("")))
            || self.outbox_row(&OutboxKey::CancelChildren(id.clone())).is_some()
    }
}
