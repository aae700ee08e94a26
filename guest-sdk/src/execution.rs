//! Drives the future of one workflow and those of its updates: polls until none can make progress,
//! then returns to the host.

use std::sync::Arc;

use crate::{
    bindings::segno::workflow::types as wit,
    context::Context,
    function::{Entry, EntryPoint},
    handler::Handlers,
    invocation::CurrentInvocation,
    journal::CommandJournal,
    payload::Payload,
    task::{OutcomeFuture, WakeableFuture, no_such_function},
    update::{RunningUpdates, update_of},
};

/// One invocation, with the future that produces its outcome and the updates that it is answering.
pub(crate) struct WorkflowExecution {
    invocation: Arc<CurrentInvocation>,
    /// `None` once the future has ended.
    main: Option<WakeableFuture>,
    handlers: Handlers,
    updates: RunningUpdates,
}

impl WorkflowExecution {
    /// Begins `entry` and runs it until it waits. An input of a wrong type ends it immediately.
    pub(crate) fn start(
        entry: Option<&Entry>,
        function: &str,
        input: &Payload,
        handlers: Handlers,
        facts: wit::Context,
        journal: Arc<dyn CommandJournal>,
    ) -> Self {
        let invocation = CurrentInvocation::new(facts, journal);
        let begun = match entry.map(|entry| (entry.name, entry.kind)) {
            Some((_, EntryPoint::Workflow(begin))) => {
                begin(Context::new(invocation.clone()), input)
            }
            Some((name, EntryPoint::Activity(_))) => Err(wit::Failure {
                code: crate::Error::NOT_FOUND,
                message: format!("`{name}` is an activity; it is performed, not started"),
                details: None,
            }),
            None => Err(no_such_function(function)),
        };
        let future: OutcomeFuture = match begun {
            Ok(body) => {
                let invocation = invocation.clone();
                Box::pin(async move {
                    let outcome = body.await;
                    let unwind = invocation.sagas().unwind;
                    match unwind.filter(|_| !invocation.continues(&outcome)) {
                        Some(unwind) => unwind(invocation, outcome).await,
                        None => outcome,
                    }
                })
            }
            Err(failure) => Box::pin(std::future::ready(wit::Outcome::Failure(failure))),
        };
        let main = Some(WakeableFuture::new(future));
        let mut execution = Self { invocation, main, handlers, updates: RunningUpdates::default() };
        execution.advance();
        execution
    }

    /// Delivers one event to the workflow and runs it until it waits again.
    pub(crate) fn resume(&mut self, event: wit::Event) {
        let Some(main) = &self.main else { return };
        main.wake();
        match &event {
            wit::Event::Signal(signal) if let Some(name) = update_of(signal) => {
                self.invocation.heard();
                self.updates.accept(&self.invocation, &self.handlers, name, &signal.payload);
            }
            _ => self.invocation.tell(event),
        }
        self.advance();
    }

    /// Polls woken tasks: the workflow before its updates, and these in the order of acceptance.
    fn advance(&mut self) {
        while let Some(main) = &mut self.main {
            if let Some(outcome) = main.poll_until_idle() {
                self.invocation.finish(&outcome);
                self.main = None;
                self.updates.drop_all();
                return;
            }
            if !self.updates.advance(&self.invocation) {
                return;
            }
        }
    }

    /// Answers a query, also after the end.
    pub(crate) fn query(&self, name: &str, input: &Payload) -> wit::Outcome {
        self.handlers.query(&self.invocation, name, input)
    }

    /// Checks that an update may be accepted now.
    pub(crate) fn validate(&self, name: &str, input: &Payload) -> Result<(), wit::Failure> {
        self.handlers.validate(&self.invocation, name, input)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn invocation(&self) -> &Arc<CurrentInvocation> {
        &self.invocation
    }

    /// The queries and updates of the workflow.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn handlers(&mut self) -> &mut Handlers {
        &mut self.handlers
    }
}
