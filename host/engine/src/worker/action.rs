//! What a command makes the engine do, in the transaction that stores the command.

use segno_core::{
    command::FenceAct,
    id::{CommandIndex, PromiseId},
    promise::NewPromise,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value},
};
use serde_json::json;

use super::{
    convention::{self, payload_json},
    recorder::Identity,
};
use segno_guest::{Ask, CallOptions, FunctionDescription, Payload, Stop};

/// The target of HTTP requests that the host performs.
pub const HTTP: &str = "segno:http";
/// The header of a parameter that names the module whose policy applies.
pub const MODULE_HEADER: &str = "segno:module";

/// The promise that completes the command, for those that have one.
pub fn promise(invocation: &PromiseId, index: u32, ask: &Ask) -> Option<PromiseId> {
    match ask {
        Ask::Promise { name: Some(name), .. } => Some(invocation.named(name)),
        Ask::Call { .. }
        | Ask::SleepUntil { .. }
        | Ask::Promise { name: None, .. }
        | Ask::Http { .. } => Some(invocation.command(CommandIndex(index))),
        _ => None,
    }
}

/// What has to be done for the command; nothing for a `run`. `cancelled` gives the promise of an earlier command.
///
/// # Errors
/// The guest named a command that does not exist.
pub fn of(
    identity: &Identity,
    index: u32,
    ask: &Ask,
    at: Timestamp,
    cancelled: impl Fn(u32) -> PromiseId,
) -> Result<Option<FenceAct>, Stop> {
    let invocation = &identity.id;
    let create = |new| Some(FenceAct::Create { new });
    Ok(match ask {
        Ask::Call { function, input, options } => {
            create(call(identity, index, function, param(identity, function, input), options, at))
        }
        Ask::Send { function, input, options } => {
            let param = param(identity, function, input);
            let mut new = call(identity, index, function, param, options, at);
            new.tags.insert(tags::DETACHED.into(), "true".into());
            create(new)
        }
        Ask::Http { request, options } => {
            let body = request.body.as_ref().map(payload_json);
            let input = json!({
                "method": request.method,
                "url": request.url,
                "headers": request.headers,
                "body": body,
            });
            let param = Value {
                headers: headers(identity, HTTP),
                data: json!({ "func": HTTP, "args": [input] }).to_string().into_bytes().into(),
            };
            create(call(identity, index, HTTP, param, options, at))
        }
        Ask::SleepUntil { time_ms } => create(NewPromise {
            id: invocation.command(CommandIndex(index)),
            param: Value::default(),
            tags: Tags::from([(tags::TIMER.into(), "true".into())]),
            timeout_at: Timestamp(i64::try_from(*time_ms).unwrap_or(i64::MAX))
                .min(Timestamp::NEVER),
        }),
        Ask::Promise { options, .. } => create(NewPromise {
            id: promise(invocation, index, ask).expect("a promise command has a promise"),
            param: Value::default(),
            tags: Tags::new(),
            timeout_at: deadline(options.timeout_ms, at),
        }),
        Ask::Settle { promise_id, outcome } => {
            let (verdict, value) = convention::verdict(outcome);
            Some(FenceAct::Settle { id: PromiseId::from(promise_id.as_str()), verdict, value })
        }
        Ask::Cancel { command } => {
            if *command >= index {
                return Err(Stop::Contract(format!(
                    "`cancel({command})`: there is no such command yet"
                )));
            }
            Some(FenceAct::Cancel { id: cancelled(*command) })
        }
        Ask::Publish { topic, payload } => Some(FenceAct::Publish {
            topic: Text::from(topic.as_str()),
            payload: convention::value(payload),
        }),
        _ => None,
    })
}

fn call(
    identity: &Identity,
    index: u32,
    function: &str,
    mut param: Value,
    options: &CallOptions,
    at: Timestamp,
) -> NewPromise {
    let described = described(identity, function);
    let retry = options.retry.as_ref().or_else(|| described?.retry.as_ref());
    if let Some(retry) = retry {
        param
            .headers
            .insert(tags::RETRY_HEADER.into(), json!(convention::policy(retry)).to_string());
    }
    let mut tags = Tags::from([(tags::TARGET.into(), target(function))]);
    if let Some(start) = options.start_at_ms {
        tags.insert(tags::DELAY.into(), start.to_string());
    }
    for (label, value) in &options.labels {
        tags.insert(format!("{}{label}", tags::LABEL_PREFIX), value.clone());
    }
    let timeout = options.timeout_ms.or_else(|| described?.timeout_ms);
    let begins = options
        .start_at_ms
        .map_or(at, |start| at.max(Timestamp(i64::try_from(start).unwrap_or(i64::MAX))));
    NewPromise {
        id: identity.id.command(CommandIndex(index)),
        param,
        tags,
        timeout_at: deadline(timeout, begins),
    }
}

/// The description of a function of the same module.
fn described<'a>(identity: &'a Identity, function: &str) -> Option<&'a FunctionDescription> {
    identity.functions.iter().find(|described| described.name == function)
}

/// A bare name is in the caller's own module. An address of workers outside has the function's name after `#`.
fn target(function: &str) -> String {
    match function.split_once('#') {
        Some((address, _)) => address.to_owned(),
        None if function.contains(':') => function.to_owned(),
        None => format!("wasm:///{function}"),
    }
}

/// The input of the call as its function finds it: workers outside take a list of arguments.
fn param(identity: &Identity, function: &str, input: &Payload) -> Value {
    let headers = headers(identity, function);
    match function.split_once('#') {
        Some((_, name)) => convention::param_of_arguments(name, input, headers),
        None => {
            let name = function.rsplit('/').next().unwrap_or(function);
            convention::param(name, input, headers)
        }
    }
}

/// The module whose policy applies is the caller's, as long as the call stays in it; another module has its own.
fn headers(identity: &Identity, function: &str) -> Tags {
    let target = target(function);
    if target.starts_with("wasm:///") || target.starts_with("segno:") {
        return Tags::from([(MODULE_HEADER.into(), identity.module.clone())]);
    }
    Tags::new()
}

fn deadline(timeout_ms: Option<u64>, at: Timestamp) -> Timestamp {
    timeout_ms.map_or(Timestamp::NEVER, |timeout| {
        (at + Millis(i64::try_from(timeout).unwrap_or(i64::MAX))).min(Timestamp::NEVER)
    })
}
