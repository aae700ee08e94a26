//! Ends of an attempt: suspension, outcome, or error.

use super::{
    attempt::{AttemptPhase, DeploymentAttempt},
    difference::HandlerDivergence,
    error::AttemptError,
};
use crate::{
    immutable::{CommandKind, ErrorMessage, Future, Message, Output, Suspension},
    wire::OperationOutcome,
};

impl DeploymentAttempt {
    /// Suspends the attempt. The runtime begins another attempt when the wait is satisfied.
    ///
    /// # Errors
    /// [`AttemptError::EmptyWait`] if the handler waits for nothing, [`AttemptError::Divergence`]
    /// if the journal has further commands.
    pub fn suspend(&mut self, awaiting: Future) -> Result<(), AttemptError> {
        self.going_on()?;
        if let Some(recorded) = self.recorded.front() {
            return Err(HandlerDivergence::waits(self.next_index, recorded).into());
        }
        if awaiting.leaves().is_empty() {
            return Err(AttemptError::EmptyWait);
        }
        self.write(&Message::Suspension(Suspension { awaiting }));
        self.phase = AttemptPhase::Closed;
        Ok(())
    }

    /// Ends the invocation with its outcome.
    ///
    /// # Errors
    /// [`AttemptError::Divergence`] if the journal has another command at this position,
    /// [`AttemptError::Unsupported`] for metadata of failures.
    pub fn finish(&mut self, outcome: OperationOutcome) -> Result<(), AttemptError> {
        self.supports_outcome(&outcome)?;
        self.issue(Output { result: Some(outcome.into()), name: String::new() }.into())?;
        self.write(&Message::End);
        self.phase = AttemptPhase::Closed;
        Ok(())
    }

    /// Fails the attempt with an error about a run, for example one that is to be retried.
    pub fn fail_run(&mut self, completion_id: u32, mut error: ErrorMessage) {
        if let Some((index, name)) = self.runs.get(&completion_id) {
            error.related_command_index = Some(*index);
            error.related_command_name = Some(name.clone());
            error.related_command_type = Some(CommandKind::Run.number().into());
        }
        self.fail(error);
    }

    /// Fails the attempt with an error about the command that the handler issued last.
    pub fn fail_handler(&mut self, mut error: ErrorMessage) {
        if let Some(last) = &self.last {
            error.related_command_index = Some(last.index);
            error.related_command_type = Some(last.number.into());
            error.related_command_name = Some(last.name.clone()).filter(|name| !name.is_empty());
        }
        self.fail(error);
    }

    /// Ends the attempt with an error. No-op if the attempt is over.
    pub fn fail(&mut self, error: ErrorMessage) {
        if self.phase != AttemptPhase::Closed {
            self.write(&Message::Error(error));
            self.phase = AttemptPhase::Closed;
        }
    }
}
