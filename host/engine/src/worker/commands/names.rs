//! Checks of the names in guest commands. A command whose result could not be addressed by its name
//! fails.

use segno_core::{
    address::ObjectFunctionPath,
    id::{MalformedName, check_key, check_name},
};
use segno_guest::{
    Failure, GuestCommand,
    commands::{
        AppendStreamCommand, CallCommand, ClearStateCommand, CloseStreamCommand, GetStateCommand,
        PeekObjectPromiseCommand, SendCommand, SetStateCommand, SettleObjectPromiseCommand,
        WaitObjectPromiseCommand,
    },
};

use crate::values::code;

const PROMISE: &str = "the name of the promise";
const STATE: &str = "the name of a part of the state";
const STREAM: &str = "the name of the stream";
const LABEL: &str = "the name of the label";

/// The failure of a command that would create something under an invalid name. `None` if its names
/// are valid.
///
/// Only new commands are checked. A command that an earlier version recorded stays valid.
pub fn misnamed(command: &GuestCommand) -> Option<Failure> {
    let message = checked(command).err()?;
    Some(Failure { code: code::BAD_REQUEST, message, details: None })
}

/// The same check if another runtime keeps the journal and has its own rules. Only an empty name of
/// a state key or object promise fails, since no host ever accepted one.
pub fn nameless(command: &GuestCommand) -> Option<Failure> {
    let reached = match command {
        GuestCommand::GetState(GetStateCommand { name })
        | GuestCommand::SetState(SetStateCommand { name, .. })
        | GuestCommand::ClearState(ClearStateCommand { name }) => reached(STATE, name),
        GuestCommand::WaitObjectPromise(WaitObjectPromiseCommand { name })
        | GuestCommand::PeekObjectPromise(PeekObjectPromiseCommand { name })
        | GuestCommand::SettleObjectPromise(SettleObjectPromiseCommand { name, .. }) => {
            reached(PROMISE, name)
        }
        _ => Ok(()),
    };
    let message = reached.err()?;
    Some(Failure { code: code::BAD_REQUEST, message, details: None })
}

/// True if no event completes the command, so that a failure can only end the invocation.
pub fn is_silent(command: &GuestCommand) -> bool {
    matches!(
        command,
        GuestCommand::SetState(_)
            | GuestCommand::ClearState(_)
            | GuestCommand::AppendStream(_)
            | GuestCommand::CloseStream(_)
    )
}

fn checked(command: &GuestCommand) -> Result<(), String> {
    match command {
        GuestCommand::Call(call) | GuestCommand::Send(SendCommand(call)) => called(call),
        GuestCommand::SagaCall(step) => called(&step.command),
        GuestCommand::Http(http) => labelled(&http.options.labels),
        GuestCommand::SagaHttp(step) => labelled(&step.command.options.labels),
        GuestCommand::Promise(promise) => match &promise.name {
            Some(name) => made(PROMISE, name),
            None => Ok(()),
        },
        GuestCommand::Publish(publish) => made("the topic", &publish.topic),
        GuestCommand::SendSignal(signal) => made("the name of the signal", &signal.name),
        GuestCommand::Run(run) => made("the name of the run", &run.name),
        GuestCommand::SetState(SetStateCommand { name, .. }) => made(STATE, name),
        GuestCommand::WaitObjectPromise(WaitObjectPromiseCommand { name })
        | GuestCommand::SettleObjectPromise(SettleObjectPromiseCommand { name, .. }) => {
            made(PROMISE, name)
        }
        GuestCommand::AppendStream(AppendStreamCommand { name, .. })
        | GuestCommand::CloseStream(CloseStreamCommand { name, .. }) => made(STREAM, name),
        // These commands create nothing, and may refer to what an earlier version created.
        GuestCommand::GetState(GetStateCommand { name })
        | GuestCommand::ClearState(ClearStateCommand { name }) => reached(STATE, name),
        GuestCommand::PeekObjectPromise(PeekObjectPromiseCommand { name }) => {
            reached(PROMISE, name)
        }
        GuestCommand::Sleep(_)
        | GuestCommand::Settle(_)
        | GuestCommand::Cancel(_)
        | GuestCommand::Undo(_)
        | GuestCommand::AskAboutStep(_)
        | GuestCommand::StateNames(_)
        | GuestCommand::ClearAllState(_)
        | GuestCommand::Unread(_)
        | GuestCommand::ContinueAsNew(_) => Ok(()),
    }
}

fn called(call: &CallCommand) -> Result<(), String> {
    labelled(&call.options.labels)?;
    // An address with another scheme has its own rules.
    let path = match call.function.strip_prefix("wasm://") {
        Some(address) => address.split_once('/').map_or("", |(_, path)| path),
        None if call.function.contains("://") => return Ok(()),
        None => &call.function,
    };
    ObjectFunctionPath::parse(path).map_or(Ok(()), |keyed| {
        check_key("the key of the object", keyed.key).map_err(|bad: MalformedName| bad.to_string())
    })
}

fn labelled(labels: &[(String, String)]) -> Result<(), String> {
    labels.iter().try_for_each(|(name, _)| made(LABEL, name))
}

fn made(what: &'static str, name: &str) -> Result<(), String> {
    check_name(what, name).map_err(|bad| bad.to_string())
}

fn reached(what: &'static str, name: &str) -> Result<(), String> {
    if name.is_empty() { made(what, name) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use segno_guest::{
        CallOptions, Payload, PromiseOptions,
        commands::{PromiseCommand, PublishCommand, RunCommand},
    };

    use super::*;

    #[test]
    fn a_command_with_a_name_that_cannot_be_addressed_fails_and_names_it() {
        let null = || Payload::Json("null".to_owned());
        let call = |function: &str, label: &str| {
            let labels = vec![(label.to_owned(), "x".to_owned())];
            let options = CallOptions { timeout_ms: None, start_at_ms: None, retry: None, labels };
            GuestCommand::Call(CallCommand {
                function: function.to_owned(),
                input: null(),
                options,
            })
        };
        let promise = |name: &str| {
            let options = PromiseOptions { timeout_ms: None };
            GuestCommand::Promise(PromiseCommand { name: Some(name.to_owned()), options })
        };
        let set = |name: &str| {
            GuestCommand::SetState(SetStateCommand { name: name.to_owned(), value: null() })
        };
        let get = |name: &str| GuestCommand::GetState(GetStateCommand { name: name.to_owned() });
        for (command, said) in [
            (promise("approval"), None),
            (promise("ok\nnow"), Some("the name of the promise `ok\\nnow`")),
            (promise("a\u{0}"), Some("control characters")),
            (promise(""), Some("it is empty")),
            (promise("\u{200b}"), Some("blank or invisible")),
            (
                GuestCommand::Run(RunCommand { name: "\t".to_owned() }),
                Some("the name of the run `\\t`"),
            ),
            (
                GuestCommand::Publish(PublishCommand { topic: " ".to_owned(), payload: null() }),
                Some("the topic ` `"),
            ),
            (set("a/b c"), None),
            (set(""), Some("the name of a part of the state ``")),
            (set("a\nb"), Some("control characters")),
            (get("a\nb"), None),
            (get(""), Some("it is empty")),
            (call("ship", "team"), None),
            (call("ship", "\u{a0}"), Some("the name of the label")),
            (call("Cart@a\nb/add", "team"), None),
            (call("Cart@ /add", "team"), Some("the key of the object ` `")),
            (call("wasm://shop/Cart@/add", "team"), Some("the key of the object ``")),
            (call("restate://Cart/ /add", "team"), None),
        ] {
            let failure = misnamed(&command);
            assert_eq!(failure.is_some(), said.is_some(), "{command:?}: {failure:?}");
            let Some(Failure { code, message, .. }) = failure else { continue };
            assert_eq!(code, 400);
            assert!(message.contains(said.unwrap_or_default()), "{message}");
        }
    }
}
