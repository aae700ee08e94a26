//! Operations on promises.

use segno_core::{
    command::Command,
    promise::{NewPromise, Promise, Verdict},
    reply::Reply,
    tags,
    time::Timestamp,
    value::{Text, Value},
};
use serde_json::json;

use super::{
    HostModel, ModelAnswer, ModelRefusal, ModelSuccess,
    fields::{RequestFields, id},
    wire,
};

pub(super) fn get(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    let id = id("id", data.text("id")?)?;
    Ok(shown("found", &promise(model.ask(&Command::PromiseGet { id }, now)?).0))
}

pub(super) fn create(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let new = new(data)?;
    let (promise, changed) = promise(model.ask(&Command::PromiseCreate(new), now)?);
    Ok(shown(made(&promise, changed), &promise))
}

/// Name of the outcome of a creation.
pub(super) fn made(promise: &Promise, changed: bool) -> &'static str {
    match (changed, promise.is_pending()) {
        (false, _) => "existed",
        (true, true) => "made",
        (true, false) if promise.is_timer() => "born-resolved",
        (true, false) => "born-timed-out",
    }
}

pub(super) fn settle(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let id = id("id", data.text("id")?)?;
    let (verdict, value) = verdict(data)?;
    let command = Command::PromiseSettle { id, verdict, value };
    let (promise, changed) = promise(model.ask(&command, now)?);
    Ok(shown(settled(&promise, changed), &promise))
}

/// Name of the outcome of a settlement.
pub(super) fn settled(promise: &Promise, changed: bool) -> &'static str {
    match (changed, wire::state(promise)) {
        (false, _) => "was-settled",
        (true, state) => state,
    }
}

pub(super) fn register_callback(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let (awaited, awaiter) = (data.text("awaited")?, data.text("awaiter")?);
    let (awaited, awaiter) = (id("awaited", awaited)?, id("awaiter", awaiter)?);
    let command = Command::RegisterCallback { awaited, awaiter };
    let promise = promise(model.ask(&command, now)?).0;
    Ok(shown(if promise.is_pending() { "registered" } else { "was-settled" }, &promise))
}

pub(super) fn register_listener(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let (awaited, address) = (data.text("awaited")?, data.text("address")?);
    let awaited = id("awaited", awaited)?;
    if !is_outside(address) {
        return Err(ModelRefusal::bad("address", "is not an address"));
    }
    let command = Command::RegisterListener { awaited, address: Text::from(address) };
    let promise = promise(model.ask(&command, now)?).0;
    Ok(shown(if promise.is_pending() { "registered" } else { "was-settled" }, &promise))
}

/// Parses the data of `promise.create`, alone or within another operation.
pub(super) fn new(data: RequestFields<'_>) -> Result<NewPromise, ModelRefusal> {
    let (name, timeout_at) = (data.text("id")?, data.number("timeoutAt")?);
    let (tags, param) = (data.tags("tags")?, data.value("param")?);
    let id = id("id", name)?;
    if timeout_at < 0 {
        return Err(ModelRefusal::bad("timeout", "`timeoutAt` is negative"));
    }
    let target = tags::target(&tags);
    if target.is_some_and(|target| !is_target(target)) {
        return Err(ModelRefusal::bad("target", "is not an address"));
    }
    if let Some(delay) = tags.get("delay") {
        let Some(delay) = delay.parse::<i64>().ok().filter(|delay| *delay >= 0) else {
            return Err(ModelRefusal::bad("delay", "no time in milliseconds"));
        };
        if delay >= timeout_at {
            return Err(ModelRefusal::bad(
                "delay-late",
                "resonate:delay is not before `timeoutAt`",
            ));
        }
        if target.is_none() {
            return Err(ModelRefusal::bad(
                "delay-alone",
                "resonate:delay needs the tag resonate:target",
            ));
        }
    }
    Ok(NewPromise { id, param, tags, timeout_at: Timestamp(timeout_at) })
}

/// Parses the data of `promise.settle` without the id, alone or within another operation.
pub(super) fn verdict(data: RequestFields<'_>) -> Result<(Verdict, Value), ModelRefusal> {
    let (state, value) = (data.text("state")?, data.value("value")?);
    let verdict = match state {
        "resolved" => Verdict::Resolved,
        "rejected" => Verdict::Rejected,
        "rejected_canceled" => Verdict::Canceled,
        _ => return Err(ModelRefusal::bad("state", "a promise cannot be settled as")),
    };
    Ok((verdict, value))
}

pub(super) fn promise(reply: Reply) -> (Promise, bool) {
    match reply {
        Reply::Promise { promise, changed } => (promise, changed),
        other => panic!("{other:?} shows no promise"),
    }
}

pub(super) fn shown(how: &'static str, promise: &Promise) -> ModelSuccess {
    ModelSuccess::new(how, json!({ "promise": wire::promise(promise) }))
}

/// Returns true if tasks can be sent to this address.
pub(super) fn is_target(address: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', ':', ' ', '?', '#']);
    let is_digest =
        |hex: &str| hex.len() == 64 && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    if let Some((module, function)) =
        address.strip_prefix("wasm://").and_then(|rest| rest.split_once('/'))
    {
        return is_name(function) && module.strip_prefix("sha256:").is_none_or(is_digest);
    }
    address.strip_prefix("segno:").is_some_and(is_name) || is_outside(address)
}

/// Returns true if settlements can be sent to this address.
fn is_outside(address: &str) -> bool {
    let http = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    if let Some(place) = http {
        return !place.is_empty()
            && !place.starts_with('/')
            && !address.contains(char::is_whitespace);
    }
    let (any, uni) = (address.strip_prefix("poll://any@"), address.strip_prefix("poll://uni@"));
    let parts =
        any.or(uni).map(|place| place.split_once('/').map_or((place, None), |(g, w)| (g, Some(w))));
    parts.is_some_and(|(group, worker)| {
        !group.is_empty() && worker != Some("") && (worker.is_some() || any.is_some())
    })
}
