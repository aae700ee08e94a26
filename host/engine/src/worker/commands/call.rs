//! `call` and `send`: an invocation of a function, which the caller awaits or detaches.

use segno_core::{
    address::{self, ObjectFunctionPath},
    command::FenceOperation,
    id::PromiseId,
    invocation::CommandKind,
    promise::NewPromise,
    tags,
    value::{Tags, Text, Value},
};
use segno_guest::{
    CallOptions, FunctionDescription, JournalAnswer, Payload, StopReason,
    commands::{CallCommand, SendCommand},
};
use serde_json::json;

use super::{
    CommandFields, CommandRules, CommitResult, CompletionEvent,
    site::{CommandContext, InvocationFacts, deadline, instant},
};
use crate::values;

impl CommandRules for CallCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Call
    }

    fn name(&self) -> Text {
        Text::from(self.function.as_str())
    }

    fn fields(&self, fields: &mut CommandFields) {
        fields.payload("input", &self.input).options(&self.options);
    }

    fn completion(&self, site: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Promise(site.promise())
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        Ok(Some(FenceOperation::Create { new: invocation(self, site), request: None }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

impl CommandRules for SendCommand {
    fn kind(&self) -> CommandKind {
        CommandKind::Send
    }

    fn name(&self) -> Text {
        self.0.name()
    }

    fn fields(&self, fields: &mut CommandFields) {
        self.0.fields(fields);
    }

    fn completion(&self, _: &CommandContext<'_>) -> CompletionEvent {
        CompletionEvent::Commit(CommitResult::StartedId)
    }

    fn act(&self, site: &CommandContext<'_>) -> Result<Option<FenceOperation>, StopReason> {
        let mut new = invocation(&self.0, site);
        new.tags.insert(tags::DETACHED.into(), "true".into());
        Ok(Some(FenceOperation::Create { new, request: None }))
    }

    fn answer(&self, index: u32, _: Option<&PromiseId>, _: bool) -> JournalAnswer {
        JournalAnswer::Command(index)
    }
}

pub(super) fn invocation(call: &CallCommand, site: &CommandContext<'_>) -> NewPromise {
    let param = param(site.identity, &call.function, &call.input);
    callee(site, &call.function, param, &call.options)
}

/// The promise that a call creates.
pub(super) fn callee(
    site: &CommandContext<'_>,
    function: &str,
    mut param: Value,
    options: &CallOptions,
) -> NewPromise {
    let described = described(site.identity, function);
    let retry = options.retry.as_ref().or_else(|| described?.retry.as_ref());
    if let Some(retry) = retry {
        let policy = json!(values::policy(retry)).to_string();
        param.headers.insert(tags::RETRY_HEADER.into(), policy);
    }
    let mut tags = Tags::from([(tags::TARGET.into(), target(site.identity, function))]);
    if let Some(start) = options.start_at_ms {
        tags.insert(tags::DELAY.into(), start.to_string());
    }
    for (label, value) in &options.labels {
        match label.as_str() {
            tags::ATTEMPT_TIMEOUT_LABEL => {
                param.headers.insert(tags::ATTEMPT_TIMEOUT_HEADER.into(), value.clone())
            }
            tags::BUDGET => tags.insert(tags::BUDGET.into(), value.clone()),
            _ => tags.insert(format!("{}{label}", tags::LABEL_PREFIX), value.clone()),
        };
    }
    let timeout = options.timeout_ms.or_else(|| described?.timeout_ms);
    let begins = options.start_at_ms.map_or(site.at, |start| site.at.max(instant(start)));
    NewPromise { id: site.promise(), param, tags, timeout_at: deadline(timeout, begins) }
}

/// The description of a function of the same module.
fn described<'a>(identity: &'a InvocationFacts, function: &str) -> Option<&'a FunctionDescription> {
    let name = is_own(function).then(|| address::function_of(function))?;
    identity.functions.iter().find(|described| described.name == name)
}

/// True for the name of a function of the caller's own module.
fn is_own(function: &str) -> bool {
    let name = ObjectFunctionPath::parse(function).map_or(function, |keyed| keyed.object);
    !name.contains([':', '#'])
}

/// The address of a called function. A bare name refers to the caller's own module, in the code
/// that the caller runs. An object belongs to the name of the module, whatever code that name has.
/// The address of an external worker has the function's name after `#`.
pub(super) fn target(identity: &InvocationFacts, function: &str) -> String {
    match worker_function(function) {
        Some((address, _)) => address.to_owned(),
        None if !is_own(function) => function.to_owned(),
        None if ObjectFunctionPath::parse(function).is_some() => {
            format!("wasm://{}/{function}", identity.module)
        }
        None => format!("wasm:///{function}"),
    }
}

/// The address of an external worker, and the name of its function.
fn worker_function(function: &str) -> Option<(&str, &str)> {
    let is_other = is_own(function) || function.starts_with("wasm://");
    function.split_once('#').filter(|_| !is_other)
}

/// The parameter of the call, in the form that its function expects. External workers take a list
/// of arguments.
fn param(identity: &InvocationFacts, function: &str, input: &Payload) -> Value {
    let headers = headers(identity, function);
    match worker_function(function) {
        Some((_, name)) => values::param_of_arguments(name, input, headers),
        None => values::param(&address::function_of(function), input, headers),
    }
}

/// The headers of a call. A call within the caller's module runs under that module's policy, and a
/// call of another module under the policy of that one.
pub(super) fn headers(identity: &InvocationFacts, function: &str) -> Tags {
    let target = target(identity, function);
    if target.starts_with("wasm:///") || target.starts_with("segno:") {
        return Tags::from([(tags::MODULE_HEADER.into(), identity.module.clone())]);
    }
    Tags::new()
}
