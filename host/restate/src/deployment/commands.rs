//! Commands of a handler other than state access, one method for each command.
//!
//! Each method takes the command's own fields. Names are for display, but must be the same in every
//! attempt. All methods fail with a divergence, with a feature that the version lacks, or because
//! the attempt is over.

use super::{attempt::DeploymentAttempt, error::AttemptError};
use crate::{
    id::{AwakeableId, AwakeableKind},
    immutable::{
        AttachInvocation, CANCEL_SIGNAL, Call, Command, CompleteAwakeable, CompletePromise,
        GetInvocationOutput, GetPromise, InvocationTarget, OneWayCall, PeekPromise, Run,
        SendSignal, SignalKey, SignalResult, Sleep,
    },
    version::ProtocolVersion,
    wire::{OperationOutcome, Void},
};

/// Completion ids of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHandle {
    /// The completion id of the notification with the callee's invocation id.
    pub invocation_id: u32,
    /// The completion id of the result.
    pub result: u32,
}

/// Handle of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunHandle {
    /// The completion id of the result.
    pub completion_id: u32,
    /// True if the journal has no outcome of the run: the driver has to execute it and propose its
    /// outcome.
    pub execute: bool,
}

/// A promise that another party completes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwakeableHandle {
    /// The id to give to the other party.
    pub id: String,
    /// The signal that completes it.
    pub signal: u32,
}

impl DeploymentAttempt {
    /// Calls a handler. Overwrites the completion ids in `call`.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn call(&mut self, mut call: Call) -> Result<CallHandle, AttemptError> {
        self.supports_scope(&[&call.scope, &call.limit_key])?;
        call.invocation_id_completion_id = self.next_completion_id;
        call.result_completion_id = self.next_completion_id.saturating_add(1);
        let ids = self.ids(call.into())?;
        Ok(CallHandle { invocation_id: ids[0], result: ids[1] })
    }

    /// Calls a handler without waiting for its result. Returns the completion id of the
    /// notification with the callee's invocation id. Overwrites the completion id in `call`.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn send(&mut self, mut call: OneWayCall) -> Result<u32, AttemptError> {
        self.supports_scope(&[&call.scope, &call.limit_key])?;
        call.invocation_id_completion_id = self.next_completion_id;
        self.id(call.into())
    }

    /// Waits until an instant, in milliseconds since the Unix epoch. A replay uses the first
    /// attempt's instant and ignores the argument.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn sleep(
        &mut self,
        wake_up_at_ms: u64,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        let result_completion_id = self.next_completion_id;
        self.id(Sleep { wake_up_at_ms, result_completion_id, name: name.into() }.into())
    }

    /// Begins a run: an action executed by the driver, whose outcome the journal keeps.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn run(&mut self, name: impl Into<String>) -> Result<RunHandle, AttemptError> {
        let result_completion_id = self.next_completion_id;
        let completion_id = self.id(Run { result_completion_id, name: name.into() }.into())?;
        let execute = !self.came.contains(&completion_id);
        Ok(RunHandle { completion_id, execute })
    }

    /// Waits for a promise of the workflow.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn promise(
        &mut self,
        key: impl Into<String>,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        let result_completion_id = self.next_completion_id;
        self.id(GetPromise { key: key.into(), result_completion_id, name: name.into() }.into())
    }

    /// Reads a promise of the workflow without waiting.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn peek_promise(
        &mut self,
        key: impl Into<String>,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        let result_completion_id = self.next_completion_id;
        self.id(PeekPromise { key: key.into(), result_completion_id, name: name.into() }.into())
    }

    /// Completes a promise of the workflow. Its result says if this call completed it first.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn complete_promise(
        &mut self,
        key: impl Into<String>,
        outcome: OperationOutcome,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        self.supports_outcome(&outcome)?;
        let result_completion_id = self.next_completion_id;
        let completion = Some(outcome.into());
        let (key, name) = (key.into(), name.into());
        self.id(CompletePromise { key, completion, result_completion_id, name }.into())
    }

    /// Waits for the result of another invocation.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn attach(
        &mut self,
        target: InvocationTarget,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        self.supports_target(&target)?;
        let result_completion_id = self.next_completion_id;
        let target = Some(target);
        self.id(AttachInvocation { target, result_completion_id, name: name.into() }.into())
    }

    /// Reads the result of another invocation without waiting.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn invocation_output(
        &mut self,
        target: InvocationTarget,
        name: impl Into<String>,
    ) -> Result<u32, AttemptError> {
        self.supports_target(&target)?;
        let result_completion_id = self.next_completion_id;
        let target = Some(target);
        self.id(GetInvocationOutput { target, result_completion_id, name: name.into() }.into())
    }

    /// Sends a signal to an invocation.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn send_signal(
        &mut self,
        target_invocation_id: impl Into<String>,
        signal: SignalKey,
        result: SignalResult,
        name: impl Into<String>,
    ) -> Result<(), AttemptError> {
        if let SignalResult::Failure(failure) = &result {
            self.supports_outcome(&OperationOutcome::Failure(failure.clone()))?;
        }
        let target_invocation_id = target_invocation_id.into();
        let (signal, result) = (Some(signal), Some(result));
        let asked = SendSignal { target_invocation_id, signal, result, name: name.into() };
        self.issue(asked.into()).map(drop)
    }

    /// Cancels an invocation.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn cancel_invocation(
        &mut self,
        target_invocation_id: impl Into<String>,
    ) -> Result<(), AttemptError> {
        let signal = SignalKey::Index(CANCEL_SIGNAL);
        self.send_signal(target_invocation_id, signal, SignalResult::Void(Void {}), "")
    }

    /// Creates an awakeable. Writes nothing: the result arrives as a signal.
    ///
    /// # Errors
    /// [`AttemptError::Closed`].
    pub fn awakeable(&mut self) -> Result<AwakeableHandle, AttemptError> {
        self.going_on()?;
        let index = self.next_signal;
        self.next_signal += 1;
        let invocation = self.start().id.clone();
        let id = AwakeableId { kind: AwakeableKind::Signal, invocation, index };
        Ok(AwakeableHandle { id: id.to_string(), signal: index })
    }

    /// Completes an awakeable, of this or another invocation.
    ///
    /// # Errors
    /// [`AttemptError`]: see the module.
    pub fn complete_awakeable(
        &mut self,
        awakeable_id: impl Into<String>,
        outcome: OperationOutcome,
        name: impl Into<String>,
    ) -> Result<(), AttemptError> {
        self.supports_outcome(&outcome)?;
        let result = Some(outcome.into());
        let awakeable_id = awakeable_id.into();
        self.issue(CompleteAwakeable { awakeable_id, result, name: name.into() }.into()).map(drop)
    }

    /// Issues a command and returns its completion ids.
    fn ids(&mut self, asked: Command) -> Result<Vec<u32>, AttemptError> {
        let command = self.issue(asked)?;
        Ok(command.wanted().into_iter().map(|wanted| wanted.id).collect())
    }

    /// Issues a command with exactly one completion id and returns it.
    pub(super) fn id(&mut self, asked: Command) -> Result<u32, AttemptError> {
        self.ids(asked).map(|ids| ids[0])
    }

    fn supports_scope(&self, fields: &[&Option<String>]) -> Result<(), AttemptError> {
        let used = fields.iter().any(|field| field.is_some());
        self.supports("a scope or a limit key", ProtocolVersion::V7, used)
    }

    fn supports_target(&self, target: &InvocationTarget) -> Result<(), AttemptError> {
        match target {
            InvocationTarget::InvocationId(_) => Ok(()),
            InvocationTarget::IdempotentRequest(target) => self.supports_scope(&[&target.scope]),
            InvocationTarget::Workflow(target) => self.supports_scope(&[&target.scope]),
        }
    }
}
