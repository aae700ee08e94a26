//! Checks a signal against the description of its receiver's module. The check is the same for all
//! senders: clients and other workflows.

use std::sync::Arc;

use segno_core::{
    id::{Digest, PromiseId},
    promise::Task,
    value::Value,
};
use segno_guest::{Failure, SchemaMismatch, SchemaSubject, Schemas, misfit_words};
use segno_model::{Function, MessageKind, ModuleDescription};
use segno_store::{PromiseRow, StoreError};
use serde_json::Value as Json;

use crate::{
    host::Host,
    target,
    values::{self, code},
};

/// The reason why a workflow does not take a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalRefusal {
    /// The workflow takes no signal of this name. Contains the names that it takes.
    Unknown(Vec<String>),
    /// The payload does not match the schema.
    Misfits(Vec<SchemaMismatch>),
}

/// Checks a signal to `function`.
///
/// # Errors
/// [`SignalRefusal`].
pub fn check(
    schemas: &Schemas,
    module: Digest,
    function: &Function,
    name: &str,
    payload: &Json,
) -> Result<(), SignalRefusal> {
    let known = || function.messages.iter().filter(|known| known.kind == MessageKind::Signal);
    let message = known().find(|known| known.name == name);
    if !function.signals || (message.is_none() && known().next().is_some()) {
        return Err(SignalRefusal::Unknown(known().map(|known| known.name.clone()).collect()));
    }
    let Some(message) = message else { return Ok(()) };
    let of = SchemaSubject::Sent(message.kind.as_str(), &message.name);
    let errors = schemas.misfits(module, &function.name, of, &message.schema, payload);
    if errors.is_empty() { Ok(()) } else { Err(SignalRefusal::Misfits(errors)) }
}

impl Host {
    /// The failure of a command that sends this signal to an invocation that does not take it.
    /// `None` if the signal is accepted, or if the invocation does not exist or has ended, which
    /// the command itself reports.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn signal_refusal(
        &self,
        invocation: &PromiseId,
        name: &str,
        payload: &Value,
    ) -> Result<Option<Failure>, StoreError> {
        let Some(row) = self.newest(invocation).await? else { return Ok(None) };
        let module = row.task.as_ref().and_then(|task| task.module);
        let Some(module) = module.filter(|_| row.promise.is_pending()) else { return Ok(None) };
        let description = self.description(module).await?;
        let called = target::function_of(&row.promise);
        let function = description.functions.iter().find(|known| known.name == *called);
        let Some(function) = function else { return Ok(None) };
        let payload = values::shown(&payload.data);
        let Err(not_taken) = check(&self.schemas, module, function, name, &payload) else {
            return Ok(None);
        };
        let (called, of) = (&function.name, invocation);
        let message = match not_taken {
            SignalRefusal::Unknown(known) if known.is_empty() => {
                format!("`{called}` of `{of}` does not take the signal `{name}`: it takes none")
            }
            SignalRefusal::Unknown(known) => format!(
                "`{called}` of `{of}` does not take the signal `{name}`: it takes {}",
                known.join(", ")
            ),
            SignalRefusal::Misfits(errors) => format!(
                "the signal `{name}` to `{called}` of `{of}` does not fit its schema: {}",
                misfit_words(&errors)
            ),
        };
        Ok(Some(Failure { code: code::REFUSED, message, details: None }))
    }

    /// The newest generation of an invocation.
    async fn newest(&self, invocation: &PromiseId) -> Result<Option<PromiseRow>, StoreError> {
        let row = self.store.read().promise(invocation).await?;
        match row.as_ref().and_then(|row| row.task.as_ref()).and_then(Task::newest) {
            Some(newest) => self.store.read().promise(&newest).await,
            None => Ok(row),
        }
    }

    async fn description(&self, module: Digest) -> Result<Arc<ModuleDescription>, StoreError> {
        if let Some(known) = self.descriptions.get(module) {
            return Ok(known);
        }
        let rows = self.store.modules().list().await?;
        let stored = rows.into_iter().find(|row| row.digest == module);
        // A description that cannot be read has no signals.
        let read = stored.and_then(|row| ModuleDescription::read(&row.description).ok());
        let description = Arc::new(read.unwrap_or_default());
        self.descriptions.put(module, description.clone());
        Ok(description)
    }
}
