//! Rows that a command needs in addition to those it names.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CHILD_PAGE, ChildPage, Footprint,
    follows::{CallerModule, is_step},
};
use crate::{
    command::{Command, FenceOperation},
    config::Config,
    id::PromiseId,
    limit::LimitName,
    promise::{OutboxKey, OutboxMessage, Promise},
    transition::{ObjectRemainder, RoundTrigger, callee_page, has_count, turn_in},
    update,
    view::View,
};

/// The rows that a command needs in addition to those it names (`named`, its
/// [`footprint`](super::footprint())), as far as the loaded rows determine them.
pub fn widen(view: &View, command: &Command, named: &Footprint, config: &Config) -> Footprint {
    let mut wider = Footprint::default();
    // A settlement reads the tasks of the awaiters. The time decides which promises settle, so
    // every named pending promise counts.
    for id in &named.composites {
        wider.settles(view, id);
    }
    match command {
        Command::PromiseCreate(new) => wider.joins(view, new, None),
        Command::TaskCreate { new, .. } => {
            wider.joins(view, new, None);
            wider.takes_turn(view, &new.id);
        }
        Command::InvocationFork(fork) => {
            wider.joins(view, &fork.new, None);
            wider.repeated(view, &fork.new.id, &fork.records);
        }
        Command::TaskAcquire { claim, .. } => wider.takes_turn(view, &claim.id),
        Command::RegisterCallback { awaiter, .. } => {
            wider.lines.extend(view.promise(awaiter).and_then(turn_in));
            wider.place_of(view, awaiter);
        }
        Command::ObjectWrite { object, write } => {
            let line = view.line(object).into_iter();
            wider.rows.extend(line.flat_map(|line| line.members().cloned()));
            if write.leaves_nothing() {
                wider.awaiters_of_promises(view, object);
            }
        }
        Command::TaskFence { claim, records, actions, .. } => {
            wider.repeated(view, &claim.id, records);
            wider.grows(view, &claim.id, actions, &config.tree);
            let mut writes_object = false;
            let mut sent: BTreeMap<PromiseId, u32> = BTreeMap::new();
            let caller = CallerModule::of(view, &claim.id);
            for action in actions {
                match &action.act {
                    FenceOperation::Create { new, .. } => wider.joins(view, new, caller.as_ref()),
                    FenceOperation::CreateLoose { new } => wider.joins(view, new, None),
                    FenceOperation::State(_) => writes_object = true,
                    FenceOperation::Stream(item) => writes_object |= item.object.is_some(),
                    FenceOperation::Settle { id, .. } => wider.meant_by(view, id),
                    FenceOperation::CancelLoose { id } => drop(wider.newest(view, id)),
                    FenceOperation::Fulfill(other) => {
                        wider.repeated(view, &other.claim.id, &other.records);
                    }
                    FenceOperation::Signal { invocation, name, .. } => {
                        let newest = wider.newest(view, invocation);
                        let before = sent.entry(newest).or_default();
                        wider.hears(view, invocation, name, *before);
                        *before += 1;
                    }
                    _ => {}
                }
            }
            if writes_object {
                wider.lines.extend(view.promise(&claim.id).and_then(turn_in));
            }
            // A step that this fence creates may also be settled by it.
            let steps = actions.iter().filter(|action| match &action.act {
                FenceOperation::Create { new, .. } => is_step(&claim.id, &new.id, &new.tags),
                _ => false,
            });
            wider.facts.extend(steps.map(|_| claim.id.clone()));
        }
        Command::TaskSuspend { claim, records, .. }
        | Command::TaskFulfill { claim, records, .. } => wider.repeated(view, &claim.id, records),
        Command::TaskHandOver { claim, records, unread, .. } => {
            wider.repeated(view, &claim.id, records);
            wider.hands_over(view, &claim.id, records, unread);
            wider.tree_counts.extend(view.promise(&claim.id).map(Promise::scope));
        }
        Command::PromiseSettle { id, .. } => wider.meant_by(view, id),
        Command::Cancel { invocation } | Command::Kill { invocation } => {
            let newest = wider.newest(view, invocation);
            wider.settles(view, &newest);
        }
        Command::TaskBegin { new, module, first, .. } => {
            wider.joins(view, new, None);
            let caller = CallerModule::begun(new, *module);
            for action in first.iter().flat_map(Command::actions) {
                if let FenceOperation::Create { new, .. } = &action.act {
                    wider.joins(view, new, Some(&caller));
                }
            }
            // The footprint of the outer command already includes theirs.
            let named = Footprint::default();
            first.iter().for_each(|command| wider.merge(widen(view, command, &named, config)));
        }
        Command::Signal { invocation, name, key, .. } => {
            wider.hears(view, invocation, name, 0);
            wider.first_under(view, invocation, key.as_ref());
        }
        Command::SignalStart { new, name, key, .. } => {
            wider.joins(view, new, None);
            wider.hears(view, &new.id, name, 0);
            wider.first_under(view, &new.id, key.as_ref());
        }
        Command::Update { invocation, name, key, .. } => {
            let key = key.as_ref().map(|key| update::signal_key(name, key));
            wider.first_under(view, invocation, key.as_ref());
            let invocation = &wider.newest(view, invocation);
            if let Some(task) = view.task(invocation) {
                let signal = invocation.signal(task.signals);
                wider.settles(view, &signal);
                wider.composites.extend([signal, invocation.answer(task.signals)]);
            }
        }
        Command::OutboxDue { key: key @ OutboxKey::CancelChildren(parent) } => {
            if let Some(OutboxMessage::CancelChildren { after }) =
                view.outbox_row(key).map(|row| &row.message)
            {
                let page = ChildPage { after: after.clone(), limit: CHILD_PAGE, unasked: false };
                for child in view.children(parent, after.as_ref()).take(CHILD_PAGE as usize) {
                    wider.settles(view, child);
                }
                wider.children.insert(parent.clone(), page);
                if view.promise(parent).is_some_and(Promise::ends_callees) {
                    wider.tails.insert(parent.clone(), 0);
                }
                for callee in callee_page(view, parent, after.as_ref()) {
                    let newest = wider.newest(view, &callee);
                    wider.settles(view, &newest);
                    wider.tree_counts.insert(callee.clone());
                    wider.composites.insert(callee);
                }
            }
        }
        Command::OutboxDue { key: key @ OutboxKey::LeaveLimit(id, name) } => {
            if let Some(row) = view.outbox_row(key)
                && let OutboxMessage::LeaveLimit { admitted } = row.message
            {
                let leaving = RoundTrigger::of(view.promise(id), admitted, row.created_at);
                wider.admits(view, name, &leaving);
            }
        }
        Command::LimitDue { name } => {
            if let Some(due_at) = view.limit(name).and_then(|limit| limit.due_at) {
                wider.admits(view, name, &RoundTrigger::due(due_at));
            }
        }
        Command::StreamCreate(new) => wider.origin_of(view, &new.id),
        Command::StreamAppend(append) => {
            wider.origin_of(view, &append.id);
            let promise = append.claim.as_ref().and_then(|claim| view.promise(&claim.id));
            let maker = promise.and_then(|promise| promise.spec.made_by.as_ref());
            maker.into_iter().for_each(|maker| wider.composite(maker));
        }
        Command::StreamTouch { id } | Command::StreamDelete { id } | Command::StreamDue { id } => {
            wider.origin_of(view, id);
        }
        Command::Deploy { alias, module } | Command::Undeploy { alias, module } => {
            let modules = [view.alias(alias), Some(*module)].into_iter().flatten();
            let facts = modules.filter_map(|module| view.module_facts(&module));
            let functions = facts.flat_map(|facts| facts.limits.keys());
            wider.limits.extend(functions.map(|function| LimitName::of(alias, function)));
        }
        Command::ScheduleDue { id } => {
            if let Some(schedule) = view.schedule(id) {
                wider.occurrences(view, schedule, [schedule.next_at]);
            }
        }
        Command::ScheduleTrigger { id, at } => {
            if let Some(schedule) = view.schedule(id) {
                wider.occurrences(view, schedule, [*at]);
            }
        }
        Command::ScheduleBackfill { id, from, to } => {
            if let Some(schedule) = view.schedule(id) {
                wider.occurrences(view, schedule, schedule.backfill_page(*from, *to).0);
            }
        }
        Command::Prune { top, state, .. } => {
            let tree = view.tree(top);
            wider.tree_counts.extend(tree.members.iter().filter(|id| has_count(view, id)).cloned());
            let mut objects = BTreeSet::new();
            for member in &tree.members {
                wider.rows.extend(view.callbacks_on(member).map(|(by, _)| by.clone()));
                objects.extend(view.promise(member).and_then(turn_in));
            }
            for object in &objects {
                let Some(line) = view.line(object) else { continue };
                wider.rows.insert(line.tail.clone());
                if ObjectRemainder::of(view, object, line, &tree.members, *state).nothing {
                    wider.promises_of.insert(object.clone());
                    wider.awaiters_of_promises(view, object);
                }
            }
            wider.lines.extend(objects);
        }
        Command::Reconcile { id } => {
            for awaited in view.awaited_by(id) {
                wider.rows.insert(awaited.clone());
            }
            if let Some(last) = view.head(id).len.checked_sub(1) {
                wider.tails.insert(id.clone(), last);
            }
        }
        Command::PromiseGet { .. }
        | Command::RegisterListener { .. }
        | Command::TaskGet { .. }
        | Command::TaskHeartbeat { .. }
        | Command::WorkerHeartbeat { .. }
        | Command::WorkerGone { .. }
        | Command::TaskRelease { .. }
        | Command::TaskHalt { .. }
        | Command::TaskContinue { .. }
        | Command::TaskMigrate { .. }
        | Command::JournalRemove { .. }
        | Command::LimitSet { .. }
        | Command::BudgetCharge { .. }
        | Command::BudgetSet { .. }
        | Command::ResourceGet { .. }
        | Command::ResourceLease { .. }
        | Command::FencedPut { .. }
        | Command::ScheduleCreate(_)
        | Command::ScheduleDelete { .. }
        | Command::SchedulePause { .. }
        | Command::PromiseDue { .. }
        | Command::LeaseDue { .. }
        | Command::RetryDue { .. }
        | Command::OutboxDue { .. }
        | Command::OutboxAck { .. }
        | Command::OutboxDefer { .. }
        | Command::HostStart { .. }
        | Command::HostRelease { .. } => {}
    }
    wider
}
