//! Removal of finished trees. A tree is removed as a whole: a promise that was not created under a
//! claim, and everything created by its members, including detached promises.
//!
//! **A finished tree stays finished.** A settled promise never changes, its task creates nothing
//! more, and no task can begin to listen to it or await it. So a tree of any size may be checked
//! and then removed piece by piece, from the leaves up. Its root is removed last, since its id
//! prevents a new tree from starting among the remains. Each piece is checked again when it is
//! removed.
//!
//! **The content of an object** is removed as a whole: with the run of its key, or with the last of
//! its executions, if requested. A promise of an object is never removed alone.
//!
//! **A reused id never grants an old claim again**: a removal raises the initial version of new
//! tasks.

use std::collections::BTreeSet;

use super::{draft::DecisionDraft, objects};
use crate::{
    id::{ObjectId, PromiseId, Version},
    limit::LimitName,
    promise::{OutboxKey, Promise, TaskState},
    reply::{PruneResult, Refusal, Reply, RetentionReason},
    tags,
    time::Timestamp,
    value::Text,
    view::View,
};

/// The initial version is always a multiple of this stride.
const VERSION_STRIDE: u64 = 1_024;

pub(super) fn prune(
    draft: &mut DecisionDraft<'_>,
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
            let accounts =
                members.iter().filter(|id| draft.view.promise(id).is_some_and(Promise::is_account));
            draft.delta.budgets = accounts.map(|id| (id.clone(), None)).collect();
            draft.delta.removed.extend(members);
            PruneResult::Gone { promises }
        }
        Err(kept) => PruneResult::Kept(kept),
    };
    Ok(Reply::Pruned(pruned))
}

/// The promises to remove, if nothing prevents it: the tree, and the promises of objects that are
/// emptied by it.
fn gone(
    draft: &mut DecisionDraft<'_>,
    top: &PromiseId,
    before: Timestamp,
    part: bool,
    state: bool,
) -> Result<BTreeSet<PromiseId>, RetentionReason> {
    let mut members = removable(draft.view, top, before, part)?;
    members.extend(objects::objects_without(draft, &members, before, state)?);
    Ok(members)
}

/// New initial version of tasks, if it must rise so that these promises can be removed. A task
/// created under a reused id starts above every version that was ever granted for that id, so a
/// holder, a message, a token or a warm instance of the earlier life never matches. Whole strides
/// make the version rise about once per retention period, instead of with each tree.
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
) -> Result<BTreeSet<PromiseId>, RetentionReason> {
    let promise = view.promise(top).ok_or(RetentionReason::Absent)?;
    if let Some(maker) = promise.spec.made_by.as_ref().filter(|_| !part) {
        return Err(RetentionReason::Part { maker: maker.clone() });
    }
    if let Some(object) = tags::object(&promise.spec.tags) {
        return match part {
            false => Err(RetentionReason::OfObject { object: ObjectId::from(object) }),
            true => obstacle_unsettled(view, top, before).map_or(Ok([top.clone()].into()), Err),
        };
    }
    obstacle(view, top, before).map_or(Ok(()), Err)?;
    let tree = view.tree(top);
    if !tree.whole {
        return Err(RetentionReason::Large);
    }
    match tree.members.iter().find_map(|id| obstacle(view, id, before)) {
        Some(kept) => Err(kept),
        None => Ok(tree.members),
    }
}

/// Reason why this member of a tree, and with it the tree, must be kept. The view must hold its
/// composite, all messages about it, and the tasks of its awaiters.
pub fn obstacle(view: &View, id: &PromiseId, before: Timestamp) -> Option<RetentionReason> {
    let is_pending = view.promise(id).is_some_and(Promise::is_pending);
    match is_pending && !view.is_unreadable(id) {
        true => Some(RetentionReason::Pending { id: id.clone() }),
        false => obstacle_unsettled(view, id, before),
    }
}

/// The same check for promises that may be removed while pending.
pub(super) fn obstacle_unsettled(
    view: &View,
    id: &PromiseId,
    before: Timestamp,
) -> Option<RetentionReason> {
    let member = || id.clone();
    if view.is_unreadable(id) {
        return Some(RetentionReason::Unreadable { id: member() });
    }
    if view.promise(id)?.settlement().is_some_and(|settlement| settlement.settled_at > before) {
        return Some(RetentionReason::Recent { id: member() });
    }
    if view.owes(id) || view.listeners_on(id).next().is_some() {
        return Some(RetentionReason::Owes { id: member() });
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
    awaiter.map(|by| RetentionReason::Awaited { id: member(), by: by.clone() })
}

impl View {
    /// True if a message about this promise is pending.
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
