//! Making, reading and settling promises, and waiting for them.

use super::{
    create::{Maker, reachable, settled_at},
    draft::Draft,
};
use crate::{
    address::Address,
    id::{PromiseId, fits},
    promise::{NewPromise, Promise, Settlement, Verdict},
    reply::{Refusal, Reply},
    tags,
    value::{Text, Value},
};

pub(super) fn get(draft: &mut Draft<'_>, id: &PromiseId) -> Result<Reply, Refusal> {
    draft.touch(id);
    record(draft, id, false)
}

pub(super) fn create(draft: &mut Draft<'_>, new: &NewPromise) -> Result<Reply, Refusal> {
    draft.touch(&new.id);
    let changed = draft.create(new)?;
    record(draft, &new.id, changed)
}

pub(super) fn settle(
    draft: &mut Draft<'_>,
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
    draft: &mut Draft<'_>,
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
        let message = format!("`{awaiter}` waits for its turn, and for nothing else before that");
        return Err(Refusal::Unprocessable(message));
    }
    draft.may_await(awaited, Some(awaiter))?;
    draft.await_promise(awaited, awaiter);
    record(draft, awaited, false)
}

pub(super) fn register_listener(
    draft: &mut Draft<'_>,
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
            let message =
                format!("a listener cannot be told at `{address}`; use poll://… or http(s)://…");
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

impl Draft<'_> {
    /// Makes a promise without an owner if its id is free; answers whether the id was free.
    pub(super) fn create(&mut self, new: &NewPromise) -> Result<bool, Refusal> {
        if self.promise(&new.id).is_some() {
            return Ok(false);
        }
        self.is_nobodys(&new.id)?;
        self.make(new, Maker::Client, None)?;
        Ok(true)
    }

    /// Settles a promise if it is pending; says whether it was.
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
        let settled_at = settled_at(promise, self.now);
        self.settle(id, Settlement { verdict, value: Some(value.clone()), settled_at }, None);
        Ok(true)
    }

    /// The same; where the promise is one that a workflow may still make, its outcome is kept until then.
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

    /// Where the narrow reading of the protocol counts: refuses to wait for what no party is to
    /// settle, or for what belongs to another tree than the awaiter.
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
            let message = format!("`{awaited}` belongs to another tree than who is to wait for it");
            return Err(Refusal::BadRequest(message));
        }
        if !tags::is_awaitable(&promise.spec.tags) {
            let message = format!(
                "nobody is to settle `{awaited}`: it has no target, is no timer and not marked as external"
            );
            return Err(Refusal::Unprocessable(message));
        }
        Ok(())
    }

    /// Has the task of `awaiter` resumed when `awaited` settles, if both are pending.
    pub(super) fn await_promise(&mut self, awaited: &PromiseId, awaiter: &PromiseId) {
        if self.is_pending(awaited)
            && self.is_pending(awaiter)
            && self.callback(awaited, awaiter).is_none()
        {
            self.put_callback(awaited.clone(), awaiter.clone(), Some(false));
        }
    }
}

/// Refuses the verdict only deadlines give.
pub(super) fn for_clients(verdict: Verdict) -> Result<(), Refusal> {
    match verdict.is_for_clients() {
        true => Ok(()),
        false => Err(Refusal::BadRequest(
            "only a deadline times a promise out; resolve, reject or cancel it".to_owned(),
        )),
    }
}

/// The reply that shows a promise as it is now.
pub(super) fn record(draft: &Draft<'_>, id: &PromiseId, changed: bool) -> Result<Reply, Refusal> {
    Ok(Reply::Promise { promise: draft.existing(id)?.clone(), changed })
}
