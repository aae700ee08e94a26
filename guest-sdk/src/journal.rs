//! The commands of a workflow as plain data, so that a test can keep and compare them; the host or
//! a test executes them.

use std::{any::Any, time::Duration};

use crate::{
    bindings::segno::workflow::{sagas, types as wit},
    payload::Payload,
    saga::UnissuedStep,
    time::{Timestamp, millis},
};

/// An instant, or a duration from the moment at which the command is issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CommandTime {
    At(Timestamp),
    After(Duration),
}

impl CommandTime {
    pub(crate) fn resolve(self, now_ms: u64) -> u64 {
        match self {
            CommandTime::At(instant) => instant.as_millis(),
            CommandTime::After(duration) => now_ms.saturating_add(millis(duration)),
        }
    }
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkflowCommand {
    Call {
        function: String,
        input: Payload,
        options: wit::CallOptions,
        step: Option<Box<UnissuedStep>>,
    },
    Send {
        function: String,
        input: Payload,
        options: wit::CallOptions,
        when: Option<CommandTime>,
    },
    Sleep {
        when: CommandTime,
    },
    Promise {
        name: Option<String>,
        options: wit::PromiseOptions,
    },
    Settle {
        promise: String,
        outcome: wit::Outcome,
    },
    Http {
        request: wit::HttpRequest,
        options: wit::CallOptions,
        step: Option<Box<UnissuedStep>>,
    },
    Cancel {
        command: u32,
    },
    Publish {
        topic: String,
        payload: Payload,
    },
    Undo {
        step: sagas::Step,
        input: Payload,
        options: wit::CallOptions,
    },
    Ask {
        step: sagas::Step,
    },
    GetState {
        name: String,
    },
    StateNames,
    SetState {
        name: String,
        value: Payload,
    },
    ClearState {
        name: String,
    },
    ClearAllState,
    WaitObjectPromise {
        name: String,
    },
    PeekObjectPromise {
        name: String,
    },
    SettleObjectPromise {
        name: String,
        outcome: wit::Outcome,
    },
    SendSignal {
        invocation: String,
        name: String,
        payload: Payload,
    },
    AppendStream {
        name: String,
        content_type: String,
        item: Payload,
    },
    CloseStream {
        name: String,
        content_type: String,
    },
}

impl WorkflowCommand {
    /// The step of a saga that the command is.
    pub(crate) fn step(&mut self) -> Option<&mut UnissuedStep> {
        match self {
            WorkflowCommand::Call { step, .. } | WorkflowCommand::Http { step, .. } => {
                step.as_deref_mut()
            }
            _ => None,
        }
    }

    /// Returns true if the command is complete with its record and has no answer.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_write(&self) -> bool {
        matches!(
            self,
            WorkflowCommand::SetState { .. }
                | WorkflowCommand::ClearState { .. }
                | WorkflowCommand::ClearAllState
                | WorkflowCommand::AppendStream { .. }
                | WorkflowCommand::CloseStream { .. }
        )
    }

    /// A description for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            WorkflowCommand::Call { function, .. } => format!("call of `{function}`"),
            WorkflowCommand::Send { function, .. } => format!("send to `{function}`"),
            WorkflowCommand::Sleep { .. } => "sleep".to_owned(),
            WorkflowCommand::Promise { name: Some(name), .. } => format!("promise `{name}`"),
            WorkflowCommand::Promise { name: None, .. } => "promise".to_owned(),
            WorkflowCommand::Settle { promise, .. } => format!("settlement of `{promise}`"),
            WorkflowCommand::Http { request, .. } => {
                format!("request {} {}", request.method, request.url)
            }
            WorkflowCommand::Cancel { command } => format!("cancellation of command {command}"),
            WorkflowCommand::Publish { topic, .. } => format!("publication on `{topic}`"),
            WorkflowCommand::Undo { step, .. } => {
                format!(
                    "call of `{}`, which undoes step {} of `{}`",
                    step.compensate, step.seq, step.saga
                )
            }
            WorkflowCommand::Ask { step } => {
                format!("question whether step {} of `{}` acted", step.seq, step.saga)
            }
            WorkflowCommand::GetState { name } => format!("read of `{name}` in the state"),
            WorkflowCommand::StateNames => "read of the names in the state".to_owned(),
            WorkflowCommand::SetState { name, .. } => format!("write of `{name}` in the state"),
            WorkflowCommand::ClearState { name } => format!("removal of `{name}` from the state"),
            WorkflowCommand::ClearAllState => "removal of the state".to_owned(),
            WorkflowCommand::WaitObjectPromise { name } => {
                format!("promise `{name}` of the object")
            }
            WorkflowCommand::PeekObjectPromise { name } => {
                format!("look at the promise `{name}` of the object")
            }
            WorkflowCommand::SettleObjectPromise { name, .. } => {
                format!("settlement of the promise `{name}` of the object")
            }
            WorkflowCommand::SendSignal { invocation, name, .. } => {
                format!("signal `{name}` to `{invocation}`")
            }
            WorkflowCommand::AppendStream { name, .. } => format!("item of the stream `{name}`"),
            WorkflowCommand::CloseStream { name, .. } => format!("end of the stream `{name}`"),
        }
    }
}

/// The start of the next generation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GenerationStart {
    /// The input of the next generation.
    pub(crate) input: Payload,
    /// True if the next generation runs the code of this one.
    pub(crate) same_code: bool,
}

/// The result of issuing a command: its index, and the id of its promise if that is not
/// `{invocation}/{index}`.
pub(crate) struct CommandReceipt {
    pub(crate) index: u32,
    pub(crate) promise: Option<String>,
}

/// The workflow's side of the journal. No method blocks.
pub(crate) trait CommandJournal: Send + Sync {
    fn issue(&self, request: WorkflowCommand) -> CommandReceipt;
    fn run(&self, name: &str) -> wit::RunAnswer;
    fn run_done(&self, command: u32, outcome: &wit::Outcome);
    fn forget(&self, command: u32);
    fn now(&self) -> u64;
    /// The key of the object whose function is running.
    fn key(&self) -> String;
    fn log(&self, level: wit::Level, message: &str);
    fn finish(&self, outcome: &wit::Outcome);

    /// Reports the numbers of signals that were never read; only the host needs them.
    fn unread(&self, signals: &[u32]) {
        let _ = signals;
    }

    /// Ends a generation, and starts the next one.
    fn continue_as_new(&self, next: &GenerationStart);

    /// Registers a function of this crate that is about to be called, by what
    /// [`announce`](crate::function::announce) gives; only a test uses this.
    fn learn(&self, entry: &dyn Any) {
        let _ = entry;
    }
}
