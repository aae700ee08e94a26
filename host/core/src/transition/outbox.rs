//! Delivery of messages. Messages of the engine to itself are processed here, one page at a time.

use super::draft::DecisionDraft;
use crate::{
    effect::Effect,
    footprint::CHILD_PAGE,
    id::{PromiseId, Version},
    invocation::open_callees,
    promise::{Deferral, Delivery, OutboxKey, OutboxMessage, OutboxRow, Promise, backoff},
    reply::{Refusal, Reply},
    time::{Millis, Timestamp},
    value::Text,
    view::View,
};

pub(super) fn due(draft: &mut DecisionDraft<'_>, key: &OutboxKey) -> Result<Reply, Refusal> {
    draft.touch(key.promise());
    // Only rows that existed before this command: a row written by the promise's own deadline needs
    // rows that were not loaded.
    let owed = draft
        .outbox_row(key)
        .filter(|row| row.next_at <= draft.now && draft.view.outbox_row(key).is_some());
    let Some(row) = owed.cloned() else {
        return Ok(Reply::Message(None));
    };
    let delivery = match (key, &row.message) {
        (OutboxKey::Execute(id), OutboxMessage::Execute { version }) => {
            let delivery = draft.execution(id, *version);
            draft.withdraw(id);
            delivery
        }
        (OutboxKey::Unblock(id, address), OutboxMessage::Unblock) => {
            let delivery = draft.promise(id).map(|promise| Delivery::Unblock {
                promise: promise.clone(),
                address: address.clone(),
                attempt: row.attempts.saturating_add(1),
            });
            draft.hand_over_again(key, row);
            delivery
        }
        (OutboxKey::Event(source, index), OutboxMessage::Event { topic, payload }) => {
            let delivery = Some(Delivery::Event {
                source: source.clone(),
                index: *index,
                topic: topic.clone(),
                payload: payload.clone(),
                published_at: row.created_at,
            });
            draft.hand_over_again(key, row);
            delivery
        }
        (OutboxKey::CancelChildren(parent), OutboxMessage::CancelChildren { after }) => {
            draft.cancel_children(parent, after.as_ref());
            None
        }
        (OutboxKey::LeaveLimit(id, name), OutboxMessage::LeaveLimit { admitted }) => {
            draft.remove_outbox(key.clone());
            draft.left_limit(id, name, *admitted, row.created_at);
            None
        }
        // A message that does not match its key is external damage: it can only be dropped.
        _ => {
            draft.remove_outbox(key.clone());
            None
        }
    };
    Ok(Reply::Message(delivery.map(Box::new)))
}

pub(super) fn acknowledge(
    draft: &mut DecisionDraft<'_>,
    key: &OutboxKey,
) -> Result<Reply, Refusal> {
    for_others(key)?;
    draft.remove_outbox(key.clone());
    Ok(Reply::Done)
}

/// Refuses messages of the engine to itself.
fn for_others(key: &OutboxKey) -> Result<(), Refusal> {
    let does = match key {
        OutboxKey::CancelChildren(parent) => format!("cancels the children of `{parent}`"),
        OutboxKey::LeaveLimit(id, name) => format!("removes `{id}` from the limit `{name}`"),
        OutboxKey::Execute(_) | OutboxKey::Unblock(..) | OutboxKey::Event(..) => return Ok(()),
    };
    let message =
        format!("the engine itself {does}: clients can neither acknowledge that nor delay it");
    Err(Refusal::BadRequest(message))
}

/// Postpones a message. Early, late and repeated deferrals are harmless: a pending message stays
/// pending, and an acknowledged one stays acknowledged.
pub(super) fn defer(
    draft: &mut DecisionDraft<'_>,
    key: &OutboxKey,
    until: Deferral,
) -> Result<Reply, Refusal> {
    for_others(key)?;
    if until == Deferral::Elsewhere {
        // A task is offered once, by the host that hands out the message: its row is already
        // deleted.
        draft.effects.push(Effect::Wanted(key.clone()));
    }
    if let Some(row) = draft.outbox_row(key).cloned() {
        let next_at = match until {
            // The row is a later offer of the task.
            Deferral::Elsewhere if matches!(key, OutboxKey::Execute(_)) => row.next_at,
            Deferral::Elsewhere => draft.now + draft.patience(key, &row),
            Deferral::Failed { at_least } => draft.now + draft.patience(key, &row).max(at_least),
            Deferral::Offered => row.next_at.min(draft.now),
            Deferral::Unclaimed => Timestamp::NEVER,
        };
        if next_at != row.next_at {
            draft.put_outbox(key.clone(), OutboxRow { next_at, ..row });
        }
    }
    Ok(Reply::Done)
}

/// The next page, by id, of the callees that a killed service invocation was waiting for.
pub(crate) fn callee_page(
    view: &View,
    killed: &PromiseId,
    after: Option<&PromiseId>,
) -> Vec<PromiseId> {
    if !view.promise(killed).is_some_and(Promise::ends_callees) {
        return Vec::new();
    }
    let callees = open_callees(view.tail(killed)).into_iter();
    let rest = callees.filter(|callee| after.is_none_or(|after| callee > after));
    rest.take(CHILD_PAGE as usize).collect()
}

impl DecisionDraft<'_> {
    fn execution(&self, id: &PromiseId, version: Version) -> Option<Delivery> {
        let target = Text::from(self.promise(id)?.target()?);
        Some(Delivery::Execute { task: id.clone(), version, target })
    }

    fn hand_over_again(&mut self, key: &OutboxKey, row: OutboxRow) {
        let row = OutboxRow { attempts: row.attempts.saturating_add(1), ..row };
        // The host that has the message reports the result; this retry covers the case that no such
        // host survives.
        let next_at = self.now + self.patience(key, &row).max(self.config.handover);
        self.due(next_at);
        self.delta.outbox.insert(key.clone(), Some(OutboxRow { next_at, ..row }));
    }

    /// Back-off of a message after its delivery attempts so far.
    fn patience(&self, key: &OutboxKey, row: &OutboxRow) -> Millis {
        let attempts = row.attempts;
        backoff(self.config.backoff, attempts, key.promise(), Version(u64::from(attempts)))
    }

    fn cancel_children(&mut self, parent: &PromiseId, after: Option<&PromiseId>) {
        let page = CHILD_PAGE as usize;
        let children: Vec<PromiseId> =
            self.view.children(parent, after).take(page).cloned().collect();
        // A kill must end the execution, so its children are killed instead of being asked to stop.
        let is_killed = self.promise(parent).is_some_and(Promise::was_killed);
        for child in &children {
            if self.outlives_generation(parent, child) {
                continue;
            }
            self.touch(child);
            match is_killed {
                true => self.kill_too(child),
                false => self.ask_to_stop(child),
            }
        }
        let callees = callee_page(self.view, parent, after);
        callees.iter().for_each(|callee| self.kill_callee(callee));
        let key = OutboxKey::CancelChildren(parent.clone());
        // Children with unreadable rows also take up places in the page.
        let unreadable = self.view.unreadable_promises().filter(|id| id.is_minted_by(parent));
        let whole_page = children.len() + unreadable.count() >= page;
        let last_child = children.last().filter(|_| whole_page);
        let last_callee = callees.last().filter(|_| callees.len() >= page);
        // If both pages are full, continue from the lower id: children seen twice have already
        // ended.
        match last_child.into_iter().chain(last_callee).min() {
            Some(last) => {
                let message = OutboxMessage::CancelChildren { after: Some(last.clone()) };
                self.put_outbox(key, OutboxRow::new(message, self.now));
            }
            None => self.remove_outbox(key),
        }
    }
}
