//! The rules of each guest command: how a record keeps it, what is done for it in the transaction
//! that stores the record, and what completes it. One file a command.
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
mod too_far;

use segno_core::{
    command::FenceAct,
    id::PromiseId,
    invocation::{Asked, CommandKind},
    time::Timestamp,
    value::Text,
};
use segno_guest::{Answer, GuestCommand, Stop};
use serde::{Deserialize, Serialize};

pub use fields::{Fields, display, shown_field};
pub use names::{is_silent, misnamed, nameless};
pub use site::{Identity, Site};
pub use too_far::too_far;

/// The rules of one command.
pub trait Rules {
    /// The kind of the command, as records keep it.
    fn kind(&self) -> CommandKind;

    /// The name of the command, as records keep it; empty for commands without names.
    fn name(&self) -> Text;

    /// The arguments of the command. A replay compares the fields as bytes, and a divergence names
    /// the one that differs. Options that were not given make no field.
    fn fields(&self, fields: &mut Fields);

    /// What completes the command.
    fn completion(&self, site: &Site<'_>) -> Completion;

    /// The action for the command in the transaction that stores its record, if there is one.
    ///
    /// # Errors
    /// The guest broke the contract.
    fn act(&self, site: &Site<'_>) -> Result<Option<FenceAct>, Stop>;

    /// The guest's answer. `execute`: a `run` is live, and its closure is to be executed.
    fn answer(&self, index: u32, promise: Option<&PromiseId>, execute: bool) -> Answer;
}

/// What completes a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// The settlement of this promise.
    Promise(PromiseId),
    /// The settlement of this promise, a timer that settles at this instant.
    Timer(PromiseId, Timestamp),
    /// The commit of its record.
    Commit(Committed),
    /// The result of the guest's closure.
    Guest,
    /// What the object holds at that place.
    State(StateRead),
    /// Nothing: the command is done with its record.
    Record,
}

/// What is read of what an object holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateRead {
    /// How this promise of it stands.
    Promise(PromiseId),
    /// The value of this name.
    Value(Text),
    /// The names that have one.
    Names,
}

/// The value of a command that its commit completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Committed {
    /// `null`.
    Nothing,
    /// The id of the invocation that was started.
    StartedId,
    /// `true`, if this command settled the promise.
    Settled,
}

impl Completion {
    /// The promise that completes the command, if one does.
    pub fn promise(&self) -> Option<&PromiseId> {
        match self {
            Self::Promise(id) | Self::Timer(id, _) => Some(id),
            Self::Commit(_) | Self::Guest | Self::State(_) | Self::Record => None,
        }
    }
}

/// The rules of a command.
pub fn rules(command: &GuestCommand) -> &dyn Rules {
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
    }
}

/// A command as it is stored and compared.
pub fn asked(rules: &dyn Rules) -> Asked {
    let mut fields = Fields::default();
    rules.fields(&mut fields);
    Asked { kind: rules.kind(), name: rules.name(), request: fields.into_request() }
}

/// A command of the invocation `own` as it would be asked if that had the id `other`.
pub fn asked_under(rules: &dyn Rules, own: &PromiseId, other: &PromiseId) -> Asked {
    let mut fields = Fields::default();
    rules.fields(&mut fields);
    let (own, other) = (own.as_str(), other.as_str());
    Asked {
        kind: rules.kind(),
        name: Text::from(rules.name().replace(own, other)),
        request: fields.renamed(own, other).into_request(),
    }
}
