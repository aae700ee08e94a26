//! Creating, reading, settling and awaiting promises.

use super::{
    create::{PromiseCreator, reachable, settled_at},
    draft::DecisionDraft,
};
use crate::{
    address::Address,
    id::{ObjectId, PromiseId, fits},
    promise::{NewPromise, Promise, Settlement, Verdict},
    reply::{Refusal, Reply},
    tags,
    value::{Text, Value},
};

pub(super) fn get(draft: &mut DecisionDraft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    record(draft, id, false)
}

pub(super) fn create(draft: &mut DecisionDraft<'_>, new: &NewPromise) -> Result<Reply, Refusal> {
    draft.touch(&new.id);
    let changed = draft.create(new)?;
    record(draft, &new.id, changed)
}

pub(super) fn settle(
    draft: &mut DecisionDraft<'_>,
    id: &PromiseId,
    verdict: Verdict,
    value: &Value,
) -> Result<Reply, Refusal> {
    for_clients(verdict)?;
    let id = &draft.meant_by(id);
    draft.touch(id);
    let changed = draft.settle_or_keep(id, verdict, value)?;
    record(draft, id, changed)
}

pub(super) fn register_callback(
    draft: &mut DecisionDraft<'_>,
    awaited: &PromiseId,
    awaiter: &PromiseId,
) -> Result<Reply, Refusal> {
    if awaited == awaiter {
        return Err(Refusal::BadRequest(format!("`{awaited}` cannot wait for itself")));
    }
    draft.touch(awaited);
    draft.touch(awaiter);
    draft.within_rights(awaiter, awaited)?;
    draft.existing(awaited)?;
    if draft.task(awaiter).is_none() {
        let message = format!("`{awaiter}` has no task that could be resumed");
        return Err(Refusal::Unprocessable(message));
    }
    if !draft.may_begin(awaiter) || draft.waits_behind_limit(awaiter) {
        let message = format!(
            "`{awaiter}` waits for its turn, and cannot wait for anything else before that"
        );
        return Err(Refusal::Unprocessable(message));
    }
    draft.may_await(awaited, Some(awaiter))?;
    draft.await_promise(awaited, awaiter);
    record(draft, awaited, false)
}

pub(super) fn register_listener(
    draft: &mut DecisionDraft<'_>,
    awaited: &PromiseId,
    address: &Text,
) -> Result<Reply, Refusal> {
    match Address::parse(address) {
        Ok(at @ (Address::Poll(_) | Address::Http(_))) => {
            if draft.config.resonate_strict {
                reachable(&at)?;
            }
        }
        Ok(Address::Wasm { .. } | Address::Service { .. } | Address::BuiltIn(_)) => {
            let message = format!(
                "a listener cannot have the address `{address}`; use poll://… or http(s)://…"
            );
            return Err(Refusal::BadRequest(message));
        }
        Err(refused) => return Err(Refusal::BadRequest(refused.to_string())),
    }
    fits("the address", address)?;
    draft.touch(awaited);
    draft.existing(awaited)?;
    draft.may_await(awaited, None)?;
    if draft.is_pending(awaited) && !draft.view.listeners_on(awaited).any(|known| known == address)
    {
        draft.delta.listeners.insert((awaited.clone(), address.clone()), true);
    }
    record(draft, awaited, false)
}

/// Checks that a promise is not the one that the streams of an object belong to.
pub(super) fn may_settle(id: &PromiseId) -> Result<(), Refusal> {
    match ObjectId::of_streams(id) {
        None => Ok(()),
        Some(_) => Err(Refusal::Unprocessable(format!(
            "the streams of an object belong to `{id}`: it stays pending as long as they exist"
        ))),
    }
}

impl DecisionDraft<'_> {
    /// Creates a promise without an owner if its id is free. Returns false if it is taken.
    pub(super) fn create(&mut self, new: &NewPromise) -> Result<bool, Refusal> {
        if self.promise(&new.id).is_some() {
            return Ok(false);
        }
        self.is_nobodys(&new.id)?;
        self.make(new, PromiseCreator::Client, None)?;
        Ok(true)
    }

    /// Settles a promise if it is pending. Returns false if it was already settled.
    pub(super) fn settle_with(
        &mut self,
        id: &PromiseId,
        verdict: Verdict,
        value: &Value,
    ) -> Result<bool, Refusal> {
        let promise = self.existing(id)?;
        if !promise.is_pending() {
            return Ok(false);
        }
        may_settle(id)?;
        let settled_at = settled_at(promise, self.now);
        self.settle(id, Settlement { verdict, value: Some(value.clone()), settled_at }, None);
        Ok(true)
    }

    /// Settles a promise like [`Self::settle_with`]. If the promise does not exist but a workflow
    /// may still create it, the outcome is kept until then.
    pub(super) fn settle_or_keep(
        &mut self,
        id: &PromiseId,
        verdict: Verdict,
        value: &Value,
    ) -> Result<bool, Refusal> {
        match self.promise(id) {
            Some(_) => self.settle_with(id, verdict, value),
            None => self.settle_early(id, verdict, value),
        }
    }

    /// Under the strict reading of the protocol, refuses to wait for a promise that no party is
    /// expected to settle, or for one in another tree than the awaiter's.
    pub(super) fn may_await(
        &self,
        awaited: &PromiseId,
        awaiter: Option<&PromiseId>,
    ) -> Result<(), Refusal> {
        if !self.config.resonate_strict {
            return Ok(());
        }
        let promise = self.existing(awaited)?;
        let origin =
            awaiter.map(|awaiter| self.existing(awaiter)).transpose()?.map(Promise::origin);
        if origin.is_some_and(|origin| origin != promise.origin()) {
            let message = format!("`{awaited}` belongs to another tree than its awaiter");
            return Err(Refusal::BadRequest(message));
        }
        if !tags::is_awaitable(&promise.spec.tags) {
            let message = format!(
                "`{awaited}` cannot be awaited: it has no target, is no timer and is not marked as external"
            );
            return Err(Refusal::Unprocessable(message));
        }
        Ok(())
    }

    /// Registers a callback: the task of `awaiter` resumes when `awaited` settles. No-op unless
    /// both are pending.
    pub(super) fn await_promise(&mut self, awaited: &PromiseId, awaiter: &PromiseId) {
        if self.is_pending(awaited)
            && self.is_pending(awaiter)
            && self.callback(awaited, awaiter).is_none()
        {
            self.put_callback(awaited.clone(), awaiter.clone(), Some(false));
        }
    }
}

/// Refuses the verdict that is reserved for deadlines.
pub(super) fn for_clients(verdict: Verdict) -> Result<(), Refusal> {
    match verdict.is_for_clients() {
        true => Ok(()),
        false => Err(Refusal::BadRequest(
            "only a deadline times a promise out; resolve, reject or cancel it".to_owned(),
        )),
    }
}

/// The reply with the current state of a promise.
pub(super) fn record(
    draft: &DecisionDraft<'_>,
    id: &PromiseId,
    changed: bool,
) -> Result<Reply, Refusal> {
    Ok(Reply::Promise { promise: draft.existing(id)?.clone(), changed })
}
