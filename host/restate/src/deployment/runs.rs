//! Runs. A driver executes them and proposes their outcomes.

use super::{attempt::DeploymentAttempt, error::AttemptError};
use crate::{
    frame::Flags,
    immutable::{
        Message, NotificationId, NotificationKind, NotificationResult, ProposeRunCompletion,
    },
    version::ProtocolVersion,
    wire::OperationOutcome,
};

impl DeploymentAttempt {
    /// Completion ids of the runs without an outcome: the driver executes them.
    pub fn open_runs(&self) -> Vec<u32> {
        let open = self.runs.keys().filter(|id| !self.proposals.contains_key(id));
        open.copied().collect()
    }

    /// Proposes the outcome of a run. The outcome becomes the run's result, and an event for the
    /// handler, once the runtime has stored it.
    ///
    /// # Errors
    /// [`AttemptError::NoSuchRun`] if the run has an outcome or does not exist,
    /// [`AttemptError::Unsupported`] for metadata of failures.
    pub fn propose_run(
        &mut self,
        completion_id: u32,
        outcome: OperationOutcome,
    ) -> Result<(), AttemptError> {
        self.going_on()?;
        self.supports_outcome(&outcome)?;
        let known = self.runs.contains_key(&completion_id);
        if !known || self.proposals.insert(completion_id, outcome.clone()).is_some() {
            return Err(AttemptError::NoSuchRun { completion_id });
        }
        let proposal = ProposeRunCompletion {
            result_completion_id: completion_id,
            result: Some(outcome.into()),
        };
        let flags =
            if self.version >= ProtocolVersion::V7 { Flags::REQUIRES_ACK } else { Flags::NONE };
        let frame = Message::ProposeRunCompletion(proposal).encode(self.version);
        frame.flagged(flags).write(&mut self.out);
        Ok(())
    }

    /// Takes the outcome of a run from the queued notifications, ahead of its order; it is then not
    /// delivered as an event. For drivers that answer immediately: in the first attempt, the driver
    /// knew the outcome when it proposed it.
    pub fn take_run(&mut self, completion_id: u32) -> Option<OperationOutcome> {
        let id = NotificationId::Completion(completion_id);
        let place = self.notifications.iter().position(|notification| {
            notification.id == id && notification.kind == NotificationKind::Run
        })?;
        match self.notifications.remove(place)?.result {
            NotificationResult::Value(value) => Some(OperationOutcome::Success(value)),
            NotificationResult::Failure(failure) => Some(OperationOutcome::Failure(failure)),
            NotificationResult::Void
            | NotificationResult::InvocationId(_)
            | NotificationResult::StateKeys(_) => None,
        }
    }
}
