//! The commands of a workflow, one for each function of the contract's interface `journal` that
//! writes a record. The engine decides how each is carried out.

use super::contract::{
    CallOptions, HttpRequest, Outcome, Payload, PromiseOptions, SagaStep, outcome_size, size,
};

/// A command of a workflow. Commands are numbered in the order in which the invocation issues them.
#[derive(Debug, Clone, PartialEq)]
pub enum GuestCommand {
    /// Calls a function and waits for it.
    Call(Call),
    /// Starts a function that the invocation does not wait for.
    Send(Send),
    /// Sleeps until an instant.
    Sleep(Sleep),
    /// Creates a promise.
    Promise(NewPromise),
    /// Settles a promise.
    Settle(Settle),
    /// Sends an HTTP request.
    Http(Http),
    /// Cancels an earlier command.
    Cancel(Cancel),
    /// Publishes an event.
    Publish(Publish),
    /// Computes a value in the guest, once, and records it.
    Run(Run),
    /// A call that is a step of a saga.
    SagaCall(Box<StepCommand<Call>>),
    /// A request that is a step of a saga.
    SagaHttp(Box<StepCommand<Http>>),
    /// Undoes a step of a saga.
    Undo(Box<Undo>),
    /// Requests a person's decision about a step of a saga.
    AskAboutStep(AskAboutStep),
    /// Reads one entry of the object's state.
    GetState(GetState),
    /// Lists the names of the entries in the object's state.
    StateNames(StateNames),
    /// Writes one entry of the object's state.
    SetState(SetState),
    /// Removes one entry of the object's state.
    ClearState(ClearState),
    /// Removes all entries of the object's state.
    ClearAllState(ClearAllState),
    /// Waits for a promise of the object.
    WaitObjectPromise(WaitObjectPromise),
    /// Reads the status of a promise of the object without waiting.
    PeekObjectPromise(PeekObjectPromise),
    /// Settles a promise of the object.
    SettleObjectPromise(SettleObjectPromise),
    /// Sends a signal to another invocation.
    SendSignal(SignalInvocation),
    /// Reports the signals that were never read.
    Unread(UnreadSignals),
    /// Ends this generation and starts the next one.
    ContinueAsNew(ContinueAsNew),
}

/// The arguments of [`GuestCommand::Call`].
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// A function of the caller's module, or an address.
    pub function: String,
    /// The input of the function.
    pub input: Payload,
    /// Deadline, start, retry policy and labels.
    pub options: CallOptions,
}

/// The arguments of [`GuestCommand::Send`].
#[derive(Debug, Clone, PartialEq)]
pub struct Send(pub Call);

/// The arguments of [`GuestCommand::Sleep`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sleep {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
}

/// The arguments of [`GuestCommand::Promise`].
#[derive(Debug, Clone, PartialEq)]
pub struct NewPromise {
    /// The promise's name within the invocation. `None` if the promise is identified by the index
    /// of its command.
    pub name: Option<String>,
    /// The deadline of the promise.
    pub options: PromiseOptions,
}

/// The arguments of [`GuestCommand::Settle`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settle {
    pub promise_id: String,
    pub outcome: Outcome,
}

/// The arguments of [`GuestCommand::Http`].
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    pub request: HttpRequest,
    /// Deadline, start, retry policy and labels.
    pub options: CallOptions,
}

/// The arguments of [`GuestCommand::Cancel`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cancel {
    pub command: u32,
}

/// The arguments of [`GuestCommand::Publish`].
#[derive(Debug, Clone, PartialEq)]
pub struct Publish {
    pub topic: String,
    pub payload: Payload,
}

/// The arguments of [`GuestCommand::Run`].
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
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
pub struct Undo {
    /// The call of the function that undoes the step.
    pub call: Call,
    pub step: SagaStep,
}

/// The arguments of [`GuestCommand::AskAboutStep`].
#[derive(Debug, Clone, PartialEq)]
pub struct AskAboutStep(pub SagaStep);

/// The arguments of [`GuestCommand::GetState`].
#[derive(Debug, Clone, PartialEq)]
pub struct GetState {
    pub name: String,
}

/// [`GuestCommand::StateNames`], which has no arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateNames;

/// The arguments of [`GuestCommand::SetState`].
#[derive(Debug, Clone, PartialEq)]
pub struct SetState {
    pub name: String,
    /// The new value of the entry.
    pub value: Payload,
}

/// The arguments of [`GuestCommand::ClearState`].
#[derive(Debug, Clone, PartialEq)]
pub struct ClearState {
    pub name: String,
}

/// [`GuestCommand::ClearAllState`], which has no arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClearAllState;

/// The arguments of [`GuestCommand::WaitObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct WaitObjectPromise {
    pub name: String,
}

/// The arguments of [`GuestCommand::PeekObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct PeekObjectPromise {
    pub name: String,
}

/// The arguments of [`GuestCommand::SettleObjectPromise`].
#[derive(Debug, Clone, PartialEq)]
pub struct SettleObjectPromise {
    pub name: String,
    /// The outcome of the promise.
    pub outcome: Outcome,
}

/// The arguments of [`GuestCommand::SendSignal`].
#[derive(Debug, Clone, PartialEq)]
pub struct SignalInvocation {
    /// The id of the receiving invocation.
    pub invocation: String,
    pub name: String,
    pub payload: Payload,
}

/// The arguments of [`GuestCommand::Unread`].
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadSignals {
    /// Numbers of the unread signals, ascending.
    pub signals: Vec<u32>,
}

/// The arguments of [`GuestCommand::ContinueAsNew`].
#[derive(Debug, Clone, PartialEq)]
pub struct ContinueAsNew {
    /// The input of the next generation.
    pub input: Payload,
    /// True if the next generation runs on the same code as this one.
    pub same_code: bool,
}

impl GuestCommand {
    /// Size of the command's texts and payloads, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Call(call) | Self::Send(Send(call)) => call.size(),
            Self::Sleep(_) | Self::Cancel(_) => 0,
            Self::Promise(promise) => promise.name.as_ref().map_or(0, String::len),
            Self::Settle(settle) => settle.promise_id.len() + outcome_size(&settle.outcome),
            Self::Http(http) => http.size(),
            Self::Publish(publish) => publish.topic.len() + size(&publish.payload),
            Self::Run(run) => run.name.len(),
            Self::SagaCall(of) => of.command.size() + step_size(&of.step),
            Self::SagaHttp(of) => of.command.size() + step_size(&of.step),
            Self::Undo(of) => of.call.size() + step_size(&of.step),
            Self::AskAboutStep(AskAboutStep(step)) => step_size(step),
            Self::GetState(GetState { name }) | Self::ClearState(ClearState { name }) => name.len(),
            Self::SetState(SetState { name, value }) => name.len() + size(value),
            Self::StateNames(_) | Self::ClearAllState(_) => 0,
            Self::WaitObjectPromise(WaitObjectPromise { name })
            | Self::PeekObjectPromise(PeekObjectPromise { name }) => name.len(),
            Self::SettleObjectPromise(SettleObjectPromise { name, outcome }) => {
                name.len() + outcome_size(outcome)
            }
            Self::SendSignal(SignalInvocation { invocation, name, payload }) => {
                invocation.len() + name.len() + size(payload)
            }
            Self::Unread(UnreadSignals { signals }) => size_of_val(signals.as_slice()),
            Self::ContinueAsNew(ContinueAsNew { input, .. }) => size(input),
        }
    }
}

impl Call {
    fn size(&self) -> usize {
        self.function.len() + size(&self.input) + pairs(&self.options.labels)
    }
}

impl Http {
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
    Call: Call, Send: Send, Sleep: Sleep, Promise: NewPromise, Settle: Settle, Http: Http,
    Cancel: Cancel, Publish: Publish, Run: Run, SagaCall: Box<StepCommand<Call>>, SagaHttp: Box<StepCommand<Http>>,
    Undo: Box<Undo>, AskAboutStep: AskAboutStep,
    GetState: GetState, StateNames: StateNames, SetState: SetState, ClearState: ClearState,
    ClearAllState: ClearAllState, WaitObjectPromise: WaitObjectPromise,
    PeekObjectPromise: PeekObjectPromise, SettleObjectPromise: SettleObjectPromise,
    SendSignal: SignalInvocation, Unread: UnreadSignals, ContinueAsNew: ContinueAsNew
}
