//! Fences: records and actions under one claim, in one transaction. Both are durable together, or
//! not at all.

use std::ops::Range;

use super::{
    append::{is_untold, progressed},
    create::PromiseCreator,
    draft::DecisionDraft,
    fork::is_fork,
    kept,
    promises::for_clients,
    requeue::LOST,
    signals::signal_once,
    tasks::{self, described},
};
use crate::{
    command::{ClaimRequest, FenceAction, FenceOperation, Fulfillment},
    graph::{self, NodeFact, NodeState},
    id::{Claim, CommandIndex, PromiseId, check_name},
    invocation::{LogLine, Record},
    promise::{
        CancelState, Lease, NewPromise, OutboxKey, OutboxMessage, OutboxRow, Promise, Task,
        TaskStatus,
    },
    reply::{Conflict, FenceResult, Refusal, Reply},
    tags,
};

pub(super) fn act(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    records: &[Record],
    logs: &[LogLine],
    actions: &[FenceAction],
) -> Result<Reply, Refusal> {
    draft.touch(&claim.id);
    let others =
        actions.iter().filter(|action| !matches!(action.act, FenceOperation::Signal { .. }));
    for id in others.filter_map(|action| action.act.promise()) {
        if *id == claim.id {
            return Err(Refusal::BadRequest(format!(
                "an action under the claim of `{id}` cannot be about `{id}`"
            )));
        }
    }
    actions.iter().filter_map(|action| action.act.promise()).for_each(|id| draft.touch(id));
    let mark = match actions.iter().any(|action| ends_other(action) || opens_streams(action)) {
        true => draft.claimed(claim).map(|_| Some(draft.mark()))?,
        false => None,
    };
    let acted = act_under(draft, claim, records, logs, actions);
    if let Some(mark) = mark.filter(|_| !matches!(acted, Ok(Reply::Fenced { .. }))) {
        draft.go_back(mark);
    }
    acted
}

/// True if the action settles another task under its claim.
fn ends_other(action: &FenceAction) -> bool {
    matches!(action.act, FenceOperation::Fulfill(_))
}

/// True if the action may make the promise that the streams of an object belong to.
fn opens_streams(action: &FenceAction) -> bool {
    action.act.stream_item().is_some_and(|item| item.object.is_some())
}

fn act_under(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    records: &[Record],
    logs: &[LogLine],
    actions: &[FenceAction],
) -> Result<Reply, Refusal> {
    for action in actions {
        if let FenceOperation::Fulfill(fulfillment) = &action.act {
            draft.end_other(fulfillment)?;
        }
        if let FenceOperation::Elapsed { id } = &action.act {
            draft.has_elapsed(id)?;
        }
    }
    let before = draft.claimed(claim)?;
    if actions.iter().any(|action| action.act == FenceOperation::UnlessAsked)
        && is_untold(&before, records)
    {
        return Ok(Reply::Ready { settled: Vec::new(), cancelled: true });
    }
    if let Some(id) = actions.iter().find_map(|action| draft.taken(claim, &action.act)) {
        return Err(Refusal::IdTaken { id });
    }
    let known = draft.head(&claim.id).commands;
    // No write is recorded without being executed, so check the writes first.
    for action in actions.iter().filter(|action| action.index.0 >= known) {
        if let FenceOperation::State(write) = &action.act {
            draft.may_write_held_state(&claim.id, write)?;
        }
    }
    let items = || {
        let live = actions.iter().filter(move |action| action.index.0 >= known);
        live.filter_map(|action| action.act.stream_item())
    };
    draft.may_append_items(&claim.id, items())?;
    for object in items().filter_map(|item| item.object.as_ref()) {
        draft.make_streams_of(object)?;
    }
    let batch = draft.append(&claim.id, records, logs)?;
    let recorded = known..draft.head(&claim.id).commands;
    let stored = actions.iter().filter(|action| recorded.contains(&action.index.0));
    draft.append_items(&claim.id, stored.filter_map(|action| action.act.stream_item()));
    let mut task = before.clone();
    progressed(&mut task, batch, records);
    let is_counted = draft.counts_births(&claim.id, actions);
    let outcomes = actions
        .iter()
        .map(|action| (action.index, draft.act(&mut task, action, &recorded, is_counted)))
        .collect();
    let cancelled = task.cancel == CancelState::Requested;
    if task != before {
        draft.put_task(task);
    }
    Ok(Reply::Fenced { outcomes, head: draft.head(&claim.id), cancelled })
}

impl DecisionDraft<'_> {
    /// Settles another task under its claim.
    fn end_other(&mut self, fulfillment: &Fulfillment) -> Result<(), Refusal> {
        let Fulfillment { claim, records, logs, verdict, value } = fulfillment;
        let refused = |reason: Refusal| Refusal::NotFulfilled {
            id: claim.id.clone(),
            reason: Box::new(reason),
        };
        match tasks::fulfill(self, claim, records, logs, *verdict, value).map_err(refused)? {
            // It has a stop request that it was not notified of.
            Reply::Ready { .. } => Err(refused(
                Conflict::WrongState { id: claim.id.clone(), status: TaskStatus::Acquired }.into(),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the deadline of a promise has settled it.
    fn has_elapsed(&self, id: &PromiseId) -> Result<(), Refusal> {
        let promise = self.existing(id)?;
        match promise.settlement() == Some(&promise.deadline_settlement()) {
            true => Ok(()),
            false => Err(Refusal::NotElapsed { id: id.clone() }),
        }
    }

    /// The id that an action would create, if another owner created it.
    fn taken(&self, claim: &Claim, act: &FenceOperation) -> Option<PromiseId> {
        let FenceOperation::Create { new, .. } = act else { return None };
        self.is_taken(&new.id, &claim.id).then(|| new.id.clone())
    }

    /// True if only `claimed` may create this id, but another owner did. Such a promise is never
    /// adopted.
    pub(super) fn is_taken(&self, id: &PromiseId, claimed: &PromiseId) -> bool {
        let stranger = |promise: &Promise| promise.spec.made_by.as_ref() != Some(claimed);
        id.is_minted_by(claimed) && self.promise(id).is_some_and(stranger)
    }

    /// Executes one action. `recorded` are the commands whose records the fence appends.
    /// `is_counted` is true if the tree's count includes the executions that the fence creates.
    fn act(
        &mut self,
        task: &mut Task,
        action: &FenceAction,
        recorded: &Range<u32>,
        is_counted: bool,
    ) -> Result<FenceResult, Refusal> {
        match &action.act {
            FenceOperation::Create { new, request } => {
                self.create_under(task, action.index, new, request.as_ref(), is_counted)
            }
            FenceOperation::CreateLoose { new } => {
                self.within_rights(&task.id, &new.id)?;
                let changed = self.create(&self.with_rights_of(&task.id, new))?;
                if changed {
                    self.stepped(task);
                }
                self.acted(&new.id, changed)
            }
            FenceOperation::Settle { id, verdict, value } => {
                for_clients(*verdict)?;
                let id = self.meant_by(id);
                let known = self.existing_task(&task.id)?.inbox.kept.len();
                self.within_rights(&task.id, &id)?;
                self.touch(&id);
                let changed = self.settle_or_keep(&id, *verdict, value)?;
                if changed && self.is_outside(&task.id) {
                    self.stepped(task);
                }
                let kept = &self.existing_task(&task.id)?.inbox.kept;
                task.inbox.kept.extend_from_slice(kept.get(known..).unwrap_or_default());
                self.acted(&id, changed)
            }
            FenceOperation::Cancel { id } => {
                // In the original, the command had ended where the fork began.
                if self.promise(id).is_none() && id.is_minted_by(&task.id) && is_fork(self, task) {
                    return Ok(FenceResult::Done);
                }
                if self.existing(id)?.spec.made_by.as_ref() != Some(&task.id) {
                    let message = format!("`{}` did not make `{id}` and cannot cancel it", task.id);
                    return Err(Refusal::Unprocessable(message));
                }
                self.ask_to_stop(id);
                Ok(FenceResult::Done)
            }
            FenceOperation::CancelLoose { id } => {
                self.within_rights(&task.id, id)?;
                self.existing(id)?;
                self.ask_to_stop(id);
                Ok(FenceResult::Done)
            }
            FenceOperation::Signal { invocation, name, payload } => {
                self.within_rights(&task.id, invocation)?;
                let key = action.signal_key(&task.id);
                signal_once(self, invocation, name, payload, Some(&key))?;
                if *invocation == task.id {
                    task.signals = self.existing_task(&task.id)?.signals;
                }
                Ok(FenceResult::Done)
            }
            FenceOperation::Publish { topic, payload } => {
                // An event becomes pending with the commit that records its command, and never
                // again: a caller that repeats a recorded command cannot know if its event was
                // delivered in between.
                if recorded.contains(&action.index.0) {
                    let message =
                        OutboxMessage::Event { topic: topic.clone(), payload: payload.clone() };
                    self.publish(&task.id, action.index, message);
                }
                Ok(FenceResult::Done)
            }
            FenceOperation::State(write) => {
                // As with events: the write of a recorded command may have been overwritten in
                // between.
                if recorded.contains(&action.index.0) {
                    self.write_held_state(&task.id, write)?;
                }
                Ok(FenceResult::Done)
            }
            FenceOperation::ObjectPromise { id, settles } => {
                let made = self.create_of_object(&task.id, id)?;
                let Some((verdict, value)) = settles else { return self.acted(id, made) };
                for_clients(*verdict)?;
                // The header lets a caller that repeats a command recognise its own settlement.
                let born = self.existing(&task.id)?.spec.created_at;
                let by = format!("{}/{}@{}", task.id, action.index, born.0);
                let mut value = value.clone();
                value.headers.insert(tags::SETTLED_BY_HEADER.to_owned(), by.clone());
                let settled = self.settle_with(id, *verdict, &value)?;
                let settlement = self.existing(id)?.settlement();
                let known = settlement.and_then(|settlement| settlement.value.as_ref());
                let known = known.and_then(|value| value.headers.get(tags::SETTLED_BY_HEADER));
                let repeated = known == Some(&by);
                self.acted(id, settled || repeated)
            }
            // As with events, the items of a recorded command are stored. The others were appended
            // before.
            FenceOperation::Stream(_)
            | FenceOperation::Fulfill(_)
            | FenceOperation::Elapsed { .. }
            | FenceOperation::UnlessAsked => Ok(FenceResult::Done),
            FenceOperation::Node { node, row, reset } => {
                if !self.existing(&task.id).is_ok_and(graph::is_run) {
                    let message =
                        format!("`{}` is not the run of a graph and has no node `{node}`", task.id);
                    return Err(Refusal::Unprocessable(message));
                }
                if row.state == NodeState::Running
                    && self.promise(&task.id.attempt(node, row.attempt)).is_none()
                {
                    let message = format!("`{node}` cannot run without the promise of its attempt");
                    return Err(Refusal::Unprocessable(message));
                }
                self.delta.put_graph_node((task.id.clone(), node.clone()), *row);
                let key = (task.id.clone(), node.clone(), row.attempt, row.state);
                let fact = NodeFact { claim: task.version, at: self.now, reset: *reset };
                self.delta.graph_facts.entry(key).or_insert(fact);
                Ok(FenceResult::Done)
            }
        }
    }

    /// Registers progress of an external worker, which has no journal.
    fn stepped(&self, task: &mut Task) {
        task.attempt = 0;
        task.losses = 0;
        task.note.take_if(|note| note.kind.as_str() == LOST);
        if task.stall_limit.is_some() {
            task.progress.at = self.now;
        }
    }

    fn create_under(
        &mut self,
        task: &mut Task,
        index: CommandIndex,
        new: &NewPromise,
        request: Option<&ClaimRequest>,
        is_counted: bool,
    ) -> Result<FenceResult, Refusal> {
        self.within_rights(&task.id, &new.id)?;
        if let Some(request) = request {
            Lease::check(request.ttl).map_err(Refusal::BadRequest)?;
        }
        let changed = self.promise(&new.id).is_none();
        kept::made(task, &new.id);
        if changed {
            // Names in ids that a workflow's commands create were checked with the command.
            if task.module.is_none() || !new.id.is_minted_by(&task.id) {
                check_name("the id of the promise", new.id.as_str())?;
            }
            let grown = self.birth(task, index, new, is_counted)?;
            let maker = PromiseCreator::Invocation(task);
            match request {
                Some(request) => drop(self.make_held(new, maker, request)?),
                None => self.make(new, maker, None)?,
            }
            self.delta.tree_counts.extend(grown.map(|(root, count)| (root, Some(count))));
            // Without a journal, this flag is the only sign of children that may have to be
            // cancelled.
            let attached = self.promise(&new.id).and_then(Promise::attached_to).is_some();
            task.children |= attached && self.head(&task.id).len == 0;
        }
        // Held by this request, including the case that the reply to an earlier try was lost.
        if request.is_some_and(|request| self.held_version(&new.id, Some(request)).is_some()) {
            return Ok(FenceResult::Held(Box::new(described(self, &new.id, changed)?)));
        }
        self.acted(&new.id, changed)
    }

    /// Promises that an invocation creates without an owner still inherit its rights.
    fn with_rights_of(&self, invocation: &PromiseId, new: &NewPromise) -> NewPromise {
        let mut new = new.clone();
        let maker = self.promise(invocation);
        if let Some(rights) = maker.and_then(|maker| maker.spec.tags.get(tags::RIGHTS)) {
            tags::narrow(&mut new.tags, rights);
        }
        new
    }

    /// Checks that an invocation acts only on ids that the client which started its tree may act
    /// on: a workflow can receive any id as input.
    ///
    /// # Errors
    /// [`Refusal::Unprocessable`]: `id` is beyond these rights, whether or not it exists.
    pub(super) fn within_rights(
        &self,
        invocation: &PromiseId,
        id: &PromiseId,
    ) -> Result<(), Refusal> {
        // A client that may call a function of an object may also act on the object's promises
        // through it.
        if self.object_with(invocation, id).is_some() {
            return Ok(());
        }
        match self.promise(invocation).and_then(|own| own.beyond_rights(id)) {
            Some(prefix) => Err(Refusal::Unprocessable(format!(
                "`{invocation}` was started with rights over ids that begin with `{prefix}`, and `{id}` does not"
            ))),
            None => Ok(()),
        }
    }

    fn publish(&mut self, invocation: &PromiseId, index: CommandIndex, message: OutboxMessage) {
        self.put_outbox(
            OutboxKey::Event(invocation.clone(), index),
            OutboxRow::new(message, self.now),
        );
    }

    fn acted(&self, id: &PromiseId, changed: bool) -> Result<FenceResult, Refusal> {
        Ok(FenceResult::Promise { promise: self.existing(id)?.clone(), changed })
    }
}
