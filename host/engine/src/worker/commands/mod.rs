//! The rules of each guest command: its form in records, its action in the transaction that stores
//! the record, and its completion. One file per command.
//!
//! To add a command: a function in the WIT, a struct in `segno_guest::commands`, a `CommandKind`, a
//! file here and its line in [`rules`].

mod call;
mod cancel;
mod fields;
mod http;
mod names;
mod object_promise;
mod promise;
mod publish;
mod run;
mod saga;
mod settle;
mod signals;
mod site;
mod sleep;
mod state;
mod streams;
mod too_far;

use segno_core::{
    command::FenceOperation,
    id::PromiseId,
    invocation::{CommandKind, IssuedCommand},
    stream::StreamItem,
    time::Timestamp,
    value::Text,
};
use segno_guest::{GuestCommand, JournalAnswer, StopReason};
use serde::{Deserialize, Serialize};

pub use fields::{CommandFields, display, shown_field};
pub use names::{is_silent, misnamed, nameless};
pub use site::{CommandContext, InvocationFacts};
pub use too_far::too_far;

/// The rules of one command.
pub trait CommandRules {
    /// The kind of the command, in the form of records.
    fn kind(&self) -> CommandKind;

    /// The name of the command, in the form of records. Empty for commands without names.
    fn name(&self) -> Text;

    /// Adds the arguments of the command. A replay compares the fields as bytes, and a divergence
    /// reports the field that differs. Options that were not given produce no field.
    fn fields(&self, fields: &mut CommandFields);

    /// The event that completes the command.
    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent;

    /// The action in the transaction that stores the command's record. `None` if there is none.
    ///
    /// # Errors
    /// The guest broke the contract.
    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason>;

    /// The item that the command appends to a stream of the execution. `None` for other commands,
    /// and for an item that does not fit its content type.
    fn stream_item(&self) -> Option<StreamItem> {
        None
    }

    /// The answer to the guest. `execute` is true if a `run` is live, so that its closure must be
    /// executed.
    fn answer(&self, index: u32, promise: Option<&PromiseId>, execute: bool) -> JournalAnswer;
}

/// The event that completes a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompletionEvent {
    /// The settlement of this promise.
    Promise(PromiseId),
    /// The settlement of this promise, a timer that settles at this instant.
    Timer(PromiseId, Timestamp),
    /// The commit of the command's record.
    Commit(CommitResult),
    /// The result of the guest's closure.
    Guest,
    /// A read of the object's state.
    State(StateReadTarget),
    /// No event: the command is done when it is recorded.
    Record,
}

/// The part of an object's state that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateReadTarget {
    /// The state of this promise of the object.
    Promise(PromiseId),
    /// The value of this name.
    Value(Text),
    /// All names that have a value.
    Names,
}

/// The result of a command that its commit completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitResult {
    /// `null`.
    Nothing,
    /// The id of the invocation that was started.
    StartedId,
    /// `true` if this command settled the promise.
    Settled,
}

impl CompletionEvent {
    /// The promise that completes the command. `None` for other completions.
    pub fn promise(&self) -> Option<&PromiseId> {
        match self {
            Self::Promise(id) | Self::Timer(id, _) => Some(id),
            Self::Commit(_) | Self::Guest | Self::State(_) | Self::Record => None,
        }
    }
}

pub fn rules(command: &GuestCommand) -> &dyn CommandRules {
    match command {
        GuestCommand::Call(call) => call,
        GuestCommand::Send(send) => send,
        GuestCommand::Sleep(sleep) => sleep,
        GuestCommand::Promise(promise) => promise,
        GuestCommand::Settle(settle) => settle,
        GuestCommand::Http(http) => http,
        GuestCommand::Cancel(cancel) => cancel,
        GuestCommand::Publish(publish) => publish,
        GuestCommand::Run(run) => run,
        GuestCommand::SagaCall(step) => &**step,
        GuestCommand::SagaHttp(step) => &**step,
        GuestCommand::Undo(undo) => &**undo,
        GuestCommand::AskAboutStep(ask) => ask,
        GuestCommand::GetState(get) => get,
        GuestCommand::StateNames(names) => names,
        GuestCommand::SetState(set) => set,
        GuestCommand::ClearState(clear) => clear,
        GuestCommand::ClearAllState(clear) => clear,
        GuestCommand::WaitObjectPromise(wait) => wait,
        GuestCommand::PeekObjectPromise(peek) => peek,
        GuestCommand::SettleObjectPromise(settle) => settle,
        GuestCommand::SendSignal(send) => send,
        GuestCommand::Unread(unread) => unread,
        GuestCommand::ContinueAsNew(next) => next,
        GuestCommand::AppendStream(append) => append,
        GuestCommand::CloseStream(close) => close,
    }
}

/// A command in its stored form, which replays compare.
pub fn asked(rules: &dyn CommandRules) -> IssuedCommand {
    let mut fields = CommandFields::default();
    rules.fields(&mut fields);
    IssuedCommand { kind: rules.kind(), name: rules.name(), request: fields.into_request() }
}

/// A command of the invocation `own`, rewritten as if the invocation had the id `other`.
pub fn asked_under(rules: &dyn CommandRules, own: &PromiseId, other: &PromiseId) -> IssuedCommand {
    let mut fields = CommandFields::default();
    rules.fields(&mut fields);
    let (own, other) = (own.as_str(), other.as_str());
    IssuedCommand {
        kind: rules.kind(),
        name: Text::from(rules.name().replace(own, other)),
        request: fields.renamed(own, other).into_request(),
    }
}
