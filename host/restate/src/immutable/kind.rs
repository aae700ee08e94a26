//! Kinds of commands: type numbers, requested notifications, required fields.

use bytes::Bytes;

use super::{command::*, notification::NotificationKind};
use crate::{operation::operations, version::ProtocolVersion};

/// A notification requested by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedNotification {
    /// The completion id of the notification.
    pub id: u32,
    /// Kind of the notification.
    pub kind: NotificationKind,
}

// These numbers are stored, so they must not change.
operations! {
    /// A command.
    pub enum Command,
    /// Kind of a command.
    pub enum CommandKind {
        /// The input of the invocation.
        Input = 0x0400;
        /// The outcome of the invocation.
        Output = 0x0401;
        /// A read of a state key, answered by the runtime.
        GetLazyState = 0x0402;
        /// A write of a state key.
        SetState = 0x0403;
        /// A removal of a state key.
        ClearState = 0x0404;
        /// The removal of all state.
        ClearAllState = 0x0405;
        /// A read of the state's keys, answered by the runtime.
        GetLazyStateKeys = 0x0406;
        /// A read of a state key, with its answer.
        GetEagerState = 0x0407;
        /// A read of the state's keys, with its answer.
        GetEagerStateKeys = 0x0408;
        /// A wait for a promise.
        GetPromise = 0x0409;
        /// A read of a promise without waiting.
        PeekPromise = 0x040A;
        /// The completion of a promise.
        CompletePromise = 0x040B;
        Sleep = 0x040C;
        Call = 0x040D;
        /// A call without awaiting the result.
        OneWayCall = 0x040E;
        /// A signal to another invocation.
        SendSignal = 0x0410;
        /// An action whose outcome is journaled.
        Run = 0x0411;
        /// A wait for another invocation's result.
        AttachInvocation = 0x0412;
        /// A read of another invocation's result without waiting.
        GetInvocationOutput = 0x0413;
        /// The completion of an awakeable.
        CompleteAwakeable = 0x0414;
    }
}

impl Command {
    /// Decodes a command and checks its required fields.
    pub(crate) fn decode(kind: CommandKind, payload: Bytes) -> Result<Self, String> {
        let command = Self::decode_unchecked(kind, payload)?;
        match command.missing() {
            Some(part) => Err(format!("has no {part}")),
            None => Ok(command),
        }
    }

    /// Returns the notifications that the command requests, in the order in which they arrive.
    pub fn wanted(&self) -> Vec<RequestedNotification> {
        let one = |id, kind| vec![RequestedNotification { id, kind }];
        match self {
            Self::GetLazyState(it) => one(it.result_completion_id, NotificationKind::LazyState),
            Self::GetLazyStateKeys(it) => {
                one(it.result_completion_id, NotificationKind::LazyStateKeys)
            }
            Self::GetPromise(it) => one(it.result_completion_id, NotificationKind::GetPromise),
            Self::PeekPromise(it) => one(it.result_completion_id, NotificationKind::PeekPromise),
            Self::CompletePromise(it) => {
                one(it.result_completion_id, NotificationKind::CompletePromise)
            }
            Self::Sleep(it) => one(it.result_completion_id, NotificationKind::Sleep),
            Self::Call(it) => {
                let begun = NotificationKind::CallInvocationId;
                let id = RequestedNotification { id: it.invocation_id_completion_id, kind: begun };
                vec![
                    id,
                    RequestedNotification {
                        id: it.result_completion_id,
                        kind: NotificationKind::Call,
                    },
                ]
            }
            Self::OneWayCall(it) => {
                one(it.invocation_id_completion_id, NotificationKind::CallInvocationId)
            }
            Self::Run(it) => one(it.result_completion_id, NotificationKind::Run),
            Self::AttachInvocation(it) => {
                one(it.result_completion_id, NotificationKind::AttachInvocation)
            }
            Self::GetInvocationOutput(it) => {
                one(it.result_completion_id, NotificationKind::GetInvocationOutput)
            }
            Self::Input(_)
            | Self::Output(_)
            | Self::SetState(_)
            | Self::ClearState(_)
            | Self::ClearAllState(_)
            | Self::GetEagerState(_)
            | Self::GetEagerStateKeys(_)
            | Self::SendSignal(_)
            | Self::CompleteAwakeable(_)
            | Self::Custom(_) => Vec::new(),
        }
    }

    /// Returns the name of the required field that is absent, if any.
    fn missing(&self) -> Option<&'static str> {
        let (part, absent) = match self {
            Self::Output(it) => ("result", it.result.is_none()),
            Self::SetState(it) => ("value", it.value.is_none()),
            Self::GetEagerState(it) => ("result", it.result.is_none()),
            Self::GetEagerStateKeys(it) => ("result", it.value.is_none()),
            Self::CompletePromise(it) => ("value or failure", it.completion.is_none()),
            Self::CompleteAwakeable(it) => ("value or failure", it.result.is_none()),
            Self::SendSignal(it) if it.signal.is_none() => ("signal", true),
            Self::SendSignal(it) => ("result", it.result.is_none()),
            Self::AttachInvocation(it) => ("target", it.target.is_none()),
            Self::GetInvocationOutput(it) => ("target", it.target.is_none()),
            Self::Input(_)
            | Self::GetLazyState(_)
            | Self::ClearState(_)
            | Self::ClearAllState(_)
            | Self::GetLazyStateKeys(_)
            | Self::GetPromise(_)
            | Self::PeekPromise(_)
            | Self::Sleep(_)
            | Self::Call(_)
            | Self::OneWayCall(_)
            | Self::Run(_)
            | Self::Custom(_) => return None,
        };
        absent.then_some(part)
    }

    /// Removes the fields that `version` does not have.
    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        match self {
            Self::Output(Output { result: Some(OutputResult::Failure(failure)), .. })
            | Self::CompletePromise(CompletePromise {
                completion: Some(Completion::Failure(failure)),
                ..
            })
            | Self::CompleteAwakeable(CompleteAwakeable {
                result: Some(Completion::Failure(failure)),
                ..
            })
            | Self::SendSignal(SendSignal {
                result: Some(SignalResult::Failure(failure)), ..
            }) => failure.trim(version),
            Self::Call(Call { scope, limit_key, .. })
            | Self::OneWayCall(OneWayCall { scope, limit_key, .. })
                if version < ProtocolVersion::V7 =>
            {
                *scope = None;
                *limit_key = None;
            }
            Self::AttachInvocation(AttachInvocation { target: Some(target), .. })
            | Self::GetInvocationOutput(GetInvocationOutput { target: Some(target), .. })
                if version < ProtocolVersion::V7 =>
            {
                match target {
                    InvocationTarget::InvocationId(_) => {}
                    InvocationTarget::IdempotentRequest(target) => target.scope = None,
                    InvocationTarget::Workflow(target) => target.scope = None,
                }
            }
            _ => {}
        }
    }
}
