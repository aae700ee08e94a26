//! The queries and updates of one workflow, by name.

use std::sync::Arc;

use super::{
    HandlerEntry,
    entry::{HandlerAction, UpdateFunction, plural, word},
};
use crate::{
    bindings::{exports::segno::workflow::handlers::HandlerKind, segno::workflow::types as wit},
    error::Error,
    invocation::CurrentInvocation,
    module::Module,
    payload::Payload,
    task::OutcomeFuture,
};

/// The handlers of the workflow `function`.
#[derive(Clone)]
pub(crate) struct Handlers {
    function: String,
    entries: Vec<HandlerEntry>,
}

impl Handlers {
    pub(crate) fn new(function: &str, entries: Vec<HandlerEntry>) -> Self {
        Self { function: function.to_owned(), entries }
    }

    /// The queries and updates of a workflow that its module lists.
    pub(crate) fn of(module: &Module, function: &str) -> Self {
        let of_it = module.handlers.iter().filter(|entry| entry.function == function);
        Self::new(function, of_it.copied().collect())
    }

    /// Adds a handler that is in no list, for a test.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn learn(&mut self, entry: HandlerEntry) {
        let is_known =
            |known: &HandlerEntry| (known.kind(), known.name) == (entry.kind(), entry.name);
        if entry.function == self.function && !self.entries.iter().any(is_known) {
            self.entries.push(entry);
        }
    }

    /// Answers a query.
    pub(crate) fn query(
        &self,
        invocation: &Arc<CurrentInvocation>,
        name: &str,
        input: &Payload,
    ) -> wit::Outcome {
        let found = self.find(HandlerKind::Query, name, |act| match act {
            HandlerAction::Query(answer) => Some(answer),
            HandlerAction::Update { .. } => None,
        });
        match found.and_then(|answer| answer(invocation, input)) {
            Ok(payload) => wit::Outcome::Success(payload),
            Err(failure) => wit::Outcome::Failure(failure),
        }
    }

    /// Checks that an update may be accepted now.
    pub(crate) fn validate(
        &self,
        invocation: &Arc<CurrentInvocation>,
        name: &str,
        input: &Payload,
    ) -> Result<(), wit::Failure> {
        let found = self.find(HandlerKind::Update, name, |act| match act {
            HandlerAction::Update { validate, .. } => Some(validate),
            HandlerAction::Query(_) => None,
        });
        found.and_then(|validate| validate(invocation, input))
    }

    /// Begins an accepted update.
    pub(crate) fn begin(
        &self,
        invocation: &Arc<CurrentInvocation>,
        name: &str,
        input: &Payload,
    ) -> Result<OutcomeFuture, wit::Failure> {
        let begin: UpdateFunction = self.find(HandlerKind::Update, name, |act| match act {
            HandlerAction::Update { begin, .. } => Some(begin),
            HandlerAction::Query(_) => None,
        })?;
        begin(invocation, input)
    }

    fn find<T>(
        &self,
        kind: HandlerKind,
        name: &str,
        of_kind: fn(HandlerAction) -> Option<T>,
    ) -> Result<T, wit::Failure> {
        let mut others = Vec::new();
        for entry in &self.entries {
            match of_kind(entry.act) {
                Some(found) if entry.name == name => return Ok(found),
                Some(_) => others.push(format!("`{}`", entry.name)),
                None => {}
            }
        }
        let function = &self.function;
        let message = match others.is_empty() {
            true => format!("`{function}` has no {}", plural(kind)),
            false => {
                let others = others.join(", ");
                format!("`{function}` has no {} `{name}`; it has {others}", word(kind))
            }
        };
        Err(Error::with_code(Error::NOT_FOUND, message).into_failure())
    }
}
