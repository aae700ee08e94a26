//! Checks of messages to a running workflow against the module's declarations. A value of the wrong
//! type is refused, and does not reach the workflow.

use segno_core::{
    id::{Digest, PromiseId},
    promise::Promise,
    value::Text,
};
use segno_engine::signal_check::{self, SignalRefusal};
use segno_store::PromiseRow;
use serde_json::Value;

use super::{
    Api, ApiError,
    model::{Function, KeptFor, Message, MessageKind},
    view,
};

impl Api {
    /// Checks a signal to the invocation `row`. Skips the check if the invocation has ended.
    pub(super) async fn check_signal(
        &self,
        row: &PromiseRow,
        name: &str,
        payload: &Value,
    ) -> Result<(), ApiError> {
        let Some((module, function)) = self.described(row).await? else { return Ok(()) };
        self.check_signal_of(module, &function, name, payload)
    }

    /// Like [`check_signal`](Self::check_signal), for a function.
    pub(super) fn check_signal_of(
        &self,
        module: Digest,
        function: &Function,
        name: &str,
        payload: &Value,
    ) -> Result<(), ApiError> {
        let checked = signal_check::check(&self.host.schemas, module, function, name, payload);
        checked.map_err(|not_taken| match not_taken {
            SignalRefusal::Unknown(known) => ApiError::UnknownSignal {
                function: function.name.clone(),
                name: name.to_owned(),
                known,
            },
            SignalRefusal::Misfits(errors) => ApiError::BadMessage {
                kind: MessageKind::Signal.as_str(),
                name: name.to_owned(),
                function: function.name.clone(),
                errors,
            },
        })
    }

    /// Checks the value of a promise that is, or will be, a named promise of a workflow.
    pub(super) async fn check_value(&self, id: &PromiseId, value: &Value) -> Result<(), ApiError> {
        for (owner, name) in id.named_by() {
            let Some(owner) = self.host.store.read().promise(&owner).await? else { continue };
            if owner.task.is_some() {
                return self.check_named(&owner, name, value).await;
            }
        }
        Ok(())
    }

    /// Returns the workflow for which the outcome of this promise is kept, if any.
    pub(super) async fn kept_for(&self, promise: &Promise) -> Result<Option<KeptFor>, ApiError> {
        // A promise that a client created, or that is pending, is not kept.
        let Some(maker) = promise.spec.made_by.as_ref().filter(|_| !promise.is_pending()) else {
            return Ok(None);
        };
        let named = promise.id().named_by().find(|(owner, _)| owner == maker);
        let Some((owner, name)) = named else { return Ok(None) };
        let Some(row) = self.host.store.read().promise(&owner).await? else { return Ok(None) };
        let is_kept = |kept: &Text| kept.as_str() == name;
        if !row.task.as_ref().is_some_and(|task| task.inbox.kept.iter().any(is_kept)) {
            return Ok(None);
        }
        let described = self.described(&row).await?;
        let messages = described.map(|(_, function)| function.messages).unwrap_or_default();
        let promises = messages.into_iter().filter(|known| known.kind == MessageKind::Promise);
        Ok(Some(KeptFor {
            invocation: owner.to_string(),
            name: name.to_owned(),
            declares: promises.map(|known| known.name).collect(),
        }))
    }

    async fn check_named(
        &self,
        owner: &PromiseRow,
        name: &str,
        value: &Value,
    ) -> Result<(), ApiError> {
        let Some((module, function)) = self.described(owner).await? else { return Ok(()) };
        let is_it = |known: &&Message| known.kind == MessageKind::Promise && known.name == name;
        let message = function.messages.iter().find(is_it);
        message.map_or(Ok(()), |message| self.check(module, &function, message, value))
    }

    /// Returns the module and the function that the pending invocation `row` runs.
    async fn described(&self, row: &PromiseRow) -> Result<Option<(Digest, Function)>, ApiError> {
        let module = row.task.as_ref().and_then(|task| task.module);
        let name = view::function(&row.promise);
        let (true, Some(module), Some(name)) = (row.promise.is_pending(), module, name) else {
            return Ok(None);
        };
        let known = match self.remembered().filter(|known| known.by_digest(module).is_some()) {
            Some(known) => known,
            None => self.modules().await?,
        };
        let function = known.by_digest(module).and_then(|entry| entry.function(&name));
        Ok(function.map(|function| (module, function.clone())))
    }

    fn check(
        &self,
        module: Digest,
        function: &Function,
        message: &Message,
        value: &Value,
    ) -> Result<(), ApiError> {
        let errors = self.message_misfits(module, function, message, value);
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ApiError::BadMessage {
                kind: message.kind.as_str(),
                name: message.name.clone(),
                function: function.name.clone(),
                errors,
            }),
        }
    }
}
