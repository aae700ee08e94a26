//! The commands of a workflow, one for each function of the contract's interface `journal` that
//! writes a record. The engine decides how each is carried out.

use super::contract::{
    CallOptions, HttpRequest, Outcome, Payload, PromiseOptions, SagaStep, outcome_size, size,
};

/// A command of a workflow. Commands are numbered in the order in which the invocation issues them.
#[derive(Debug, Clone, PartialEq)]
pub enum GuestCommand {
    /// Calls a function and waits for it.
    Call(CallCommand),
    /// Starts a function that the invocation does not wait for.
    Send(SendCommand),
    /// Sleeps until an instant.
    Sleep(SleepCommand),
    /// Creates a promise.
    Promise(PromiseCommand),
    /// Settles a promise.
    Settle(SettleCommand),
    /// Sends an HTTP request.
    Http(HttpCommand),
    /// Cancels an earlier command.
    Cancel(CancelCommand),
    /// Publishes an event.
    Publish(PublishCommand),
    /// Computes a value in the guest, once, and records it.
    Run(RunCommand),
    /// A call that is a step of a saga.
    SagaCall(Box<StepCommand<CallCommand>>),
    /// A request that is a step of a saga.
    SagaHttp(Box<StepCommand<HttpCommand>>),
    /// Undoes a step of a saga.
    Undo(Box<UndoCommand>),
    /// Requests a person's decision about a step of a saga.
    AskAboutStep(AskAboutStepCommand),
    /// Reads one entry of the object's state.
    GetState(GetStateCommand),
    /// Lists the names of the entries in the object's state.
    StateNames(StateNamesCommand),
    /// Writes one entry of the object's state.
    SetState(SetStateCommand),
    /// Removes one entry of the object's state.
    ClearState(ClearStateCommand),
    /// Removes all entries of the object's state.
    ClearAllState(ClearAllStateCommand),
    /// Waits for a promise of the object.
    WaitObjectPromise(WaitObjectPromiseCommand),
    /// Reads the status of a promise of the object without waiting.
    PeekObjectPromise(PeekObjectPromiseCommand),
    /// Settles a promise of the object.
    SettleObjectPromise(SettleObjectPromiseCommand),
    /// Sends a signal to another invocation.
    SendSignal(SendSignalCommand),
    /// Reports the signals that were never read.
    Unread(UnreadCommand),
    /// Ends this generation and starts the next one.
    ContinueAsNew(ContinueAsNewCommand),
    /// Appends to a stream of the invocation.
    AppendStream(AppendStreamCommand),
    /// Closes a stream of the invocation.
    CloseStream(CloseStreamCommand),
}

/// The arguments of [`GuestCommand::Call`].
#[derive(Debug, Clone, PartialEq)]
pub struct CallCommand {
    /// A function of the caller's module, or an address.
    pub function: String,
    /// The input of the function.
    pub input: Payload,
    /// Deadline, start, retry policy and labels.
    pub options: CallOptions,
}

/// The arguments of [`GuestCommand::Send`].
#[derive(Debug, Clone, PartialEq)]
pub struct SendCommand(pub CallCommand);

/// The arguments of [`GuestCommand::Sleep`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SleepCommand {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
}

/// The arguments of [`GuestCommand::Promise`].
#[derive(Debug, Clone, PartialEq)]
pub struct PromiseCommand {
    /// The promise's name within the invocation. `None` if the promise is identified by the index
    /// of its command.
    pub name: Option<String>,
    /// The deadline of the promise.
    pub options: PromiseOptions,
}

/// The arguments of [`GuestCommand::Settle`].
#[derive(Debug, Clone, PartialEq)]
pub struct SettleCommand {
    pub promise_id: String,
    pub outcome: Outcome,
}

/// The arguments of [`GuestCommand::Http`].
#[derive(Debug, Clone, PartialEq)]
pub struct HttpCommand {
    pub request: HttpRequest,
    /// Deadline, start, retry policy and labels.
    pub options: CallOptions,
}

/// The arguments of [`GuestCommand::Cancel`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CancelCommand {
    pub command: u32,
}

/// The arguments of [`GuestCommand::Publish`].
#[derive(Debug, Clone, PartialEq)]
pub struct PublishCommand {
    pub topic: String,
    pub payload: Payload,
}

/// The arguments of [`GuestCommand::Run`].
#[derive(Debug, Clone, PartialEq)]
pub struct RunCommand {
    pub name: String,
}

/// The arguments of [`GuestCommand::SagaCall`] and [`GuestCommand::SagaHttp`].
#[derive(Debug, Clone, PartialEq)]
pub struct StepCommand<C> {
    pub command: C,
    /// The step that the command performs.
    pub step: SagaStep,
}

/// The arguments of [`GuestCommand::Undo`].
#[derive(Debug, Clone, PartialEq)]
pub struct UndoCommand {
    /// The call of the function that undoes the step.
    pub call: CallCommand,
    pub step: SagaStep,
}

/// The arguments of [`GuestCommand::AskAboutStep`].
#[derive(Debug, Clone, PartialEq)]
pub struct AskAboutStepCommand(pub SagaStep);

/// The arguments of [`GuestCommand::GetState`].
#[derive(Debug, Clone, PartialEq)]
pub struct GetStateCommand {
    pub name: String,
}

/// [`GuestCommand::StateNames`], which has no arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateNamesCommand;

/// The arguments of [`GuestCommand::SetState`].
#[derive(Debug, Clone, PartialEq)]
pub struct SetStateCommand {
    pub name: String,
    /// The new value of the entry.
    pub value: Payload,
}

/// The arguments of [`GuestCommand::ClearState`].
#[derive(Debug, Clone, PartialEq)]
pub struct ClearStateCommand {
    pub name: String,
}

/// [`GuestCommand::ClearAllState`], which has no arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClearAllStateCommand;

/// The arguments of [`GuestCommand::WaitObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct WaitObjectPromiseCommand {
    pub name: String,
}

/// The arguments of [`GuestCommand::PeekObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct PeekObjectPromiseCommand {
    pub name: String,
}

/// The arguments of [`GuestCommand::SettleObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct SettleObjectPromiseCommand {
    pub name: String,
    /// The outcome of the promise.
    pub outcome: Outcome,
}

/// The arguments of [`GuestCommand::SendSignal`].
#[derive(Debug, Clone, PartialEq)]
pub struct SendSignalCommand {
    /// The id of the receiving invocation.
    pub invocation: String,
    pub name: String,
    pub payload: Payload,
}

/// The arguments of [`GuestCommand::Unread`].
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadCommand {
    /// Numbers of the unread signals, ascending.
    pub signals: Vec<u32>,
}

/// The arguments of [`GuestCommand::ContinueAsNew`].
#[derive(Debug, Clone, PartialEq)]
pub struct ContinueAsNewCommand {
    /// The input of the next generation.
    pub input: Payload,
    /// True if the next generation runs on the same code as this one.
    pub same_code: bool,
}

/// The arguments of [`GuestCommand::AppendStream`].
#[derive(Debug, Clone, PartialEq)]
pub struct AppendStreamCommand {
    /// Name of the stream.
    pub name: String,
    pub content_type: String,
    pub item: Payload,
}

/// The arguments of [`GuestCommand::CloseStream`].
#[derive(Debug, Clone, PartialEq)]
pub struct CloseStreamCommand {
    /// Name of the stream.
    pub name: String,
    pub content_type: String,
}

impl GuestCommand {
    /// Size of the command's texts and payloads, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Call(call) | Self::Send(SendCommand(call)) => call.size(),
            Self::Sleep(_) | Self::Cancel(_) => 0,
            Self::Promise(promise) => promise.name.as_ref().map_or(0, String::len),
            Self::Settle(settle) => settle.promise_id.len() + outcome_size(&settle.outcome),
            Self::Http(http) => http.size(),
            Self::Publish(publish) => publish.topic.len() + size(&publish.payload),
            Self::Run(run) => run.name.len(),
            Self::SagaCall(of) => of.command.size() + step_size(&of.step),
            Self::SagaHttp(of) => of.command.size() + step_size(&of.step),
            Self::Undo(of) => of.call.size() + step_size(&of.step),
            Self::AskAboutStep(AskAboutStepCommand(step)) => step_size(step),
            Self::GetState(GetStateCommand { name })
            | Self::ClearState(ClearStateCommand { name }) => name.len(),
            Self::SetState(SetStateCommand { name, value }) => name.len() + size(value),
            Self::StateNames(_) | Self::ClearAllState(_) => 0,
            Self::WaitObjectPromise(WaitObjectPromiseCommand { name })
            | Self::PeekObjectPromise(PeekObjectPromiseCommand { name }) => name.len(),
            Self::SettleObjectPromise(SettleObjectPromiseCommand { name, outcome }) => {
                name.len() + outcome_size(outcome)
            }
            Self::SendSignal(SendSignalCommand { invocation, name, payload }) => {
                invocation.len() + name.len() + size(payload)
            }
            Self::Unread(UnreadCommand { signals }) => size_of_val(signals.as_slice()),
            Self::ContinueAsNew(ContinueAsNewCommand { input, .. }) => size(input),
            Self::AppendStream(AppendStreamCommand { name, content_type, item }) => {
                name.len() + content_type.len() + size(item)
            }
            Self::CloseStream(CloseStreamCommand { name, content_type }) => {
                name.len() + content_type.len()
            }
        }
    }
}

impl CallCommand {
    fn size(&self) -> usize {
        self.function.len() + size(&self.input) + pairs(&self.options.labels)
    }
}

impl HttpCommand {
    fn size(&self) -> usize {
        let HttpRequest { method, url, headers, body } = &self.request;
        let body = body.as_ref().map_or(0, size);
        method.len() + url.len() + pairs(headers) + body + pairs(&self.options.labels)
    }
}

fn step_size(step: &SagaStep) -> usize {
    step.saga.len() + step.compensate.len()
}

fn pairs(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
}

macro_rules! variants {
    ($($name:ident: $command:ty),+) => {
        $(impl From<$command> for GuestCommand {
            fn from(command: $command) -> Self {
                Self::$name(command)
            }
        })+
    };
}

variants! {
    Call: CallCommand, Send: SendCommand, Sleep: SleepCommand, Promise: PromiseCommand, Settle: SettleCommand, Http: HttpCommand,
    Cancel: CancelCommand, Publish: PublishCommand, Run: RunCommand, SagaCall: Box<StepCommand<CallCommand>>, SagaHttp: Box<StepCommand<HttpCommand>>,
    Undo: Box<UndoCommand>, AskAboutStep: AskAboutStepCommand,
    GetState: GetStateCommand, StateNames: StateNamesCommand, SetState: SetStateCommand, ClearState: ClearStateCommand,
    ClearAllState: ClearAllStateCommand, WaitObjectPromise: WaitObjectPromiseCommand,
    PeekObjectPromise: PeekObjectPromiseCommand, SettleObjectPromise: SettleObjectPromiseCommand,
    SendSignal: SendSignalCommand, Unread: UnreadCommand, ContinueAsNew: ContinueAsNewCommand,
    AppendStream: AppendStreamCommand, CloseStream: CloseStreamCommand
}
