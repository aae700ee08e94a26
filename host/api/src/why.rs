//! Why an execution does not go on: from it along what it waits for, to what has to happen.

use axum::{Json, extract::State};
use segno_core::id::PromiseId;
use segno_engine::{stuck::names_a_module, worker::replay::open_places};
use serde_json::Value;

use super::{
    Api, ApiError,
    body::Segment,
    invocations::look_at,
    model::{Invocation, InvocationState, Wait, WaitKind, Why, WhyLink, WhyReason},
    openapi::Refusals,
};

/// Executions in a chain.
const LONGEST: usize = 32;

/// Says why an execution does not go on, and what would set it going.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/why", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Why), Refusals),
)]
pub async fn why(State(api): State<Api>, Segment(id): Segment) -> Result<Json<Why>, ApiError> {
    let mut why = Why { chain: Vec::new(), cycle: Vec::new(), more: false };
    let mut next = Some(api.generation(id).await?);
    while let Some(id) = next {
        if why.chain.len() == LONGEST {
            why.more = true;
            break;
        }
        let seen = match look_at(&api, &id).await {
            Ok(seen) => seen,
            // It was removed, or is a promise that no function produces: the link before says it.
            Err(ApiError::UnknownInvocation(_)) if !why.chain.is_empty() => break,
            Err(error) => return Err(error),
        };
        let mut link = link(&seen, api.host.env.clock.now().0);
        if may_run(link.reason) && is_missing(&api, &seen).await? {
            link.reason = WhyReason::ModuleMissing;
            link.on.clone_from(&seen.module);
            link.commands = vec!["segno deploy FILE.wasm".to_owned()];
        }
        if link.reason == WhyReason::Deadlocked {
            why.cycle.clone_from(&seen.deadlock);
        }
        next = match link.reason {
            WhyReason::Call | WhyReason::Turn => link.on.clone().map(PromiseId::new),
            _ => None,
        };
        why.chain.push(link);
    }
    if let Some(last) = why.chain.last_mut() {
        last.place = place(&api, last).await;
    }
    Ok(Json(why))
}

/// Whether an invocation would run now or later if its module were there. Only the last of a chain is so,
/// and modules are looked at once.
fn may_run(reason: WhyReason) -> bool {
    use WhyReason::{BackingOff, Delayed, Halted, Offered};
    matches!(reason, BackingOff | Delayed | Halted | Offered)
}

/// Whether the module that an invocation runs is not stored.
async fn is_missing(api: &Api, seen: &Invocation) -> Result<bool, ApiError> {
    let Some(module) = &seen.module else { return Ok(names_a_module(&seen.target)) };
    Ok(!api.modules().await?.0.iter().any(|entry| entry.digest.to_string() == *module))
}

/// Where in its code a workflow waits that is suspended; none: a replay does not tell.
async fn place(api: &Api, link: &WhyLink) -> Option<Value> {
    let on = link.on.as_ref().filter(|_| link.state == InvocationState::Suspended)?;
    let (id, on) = (PromiseId::from(link.id.as_str()), PromiseId::from(on.as_str()));
    let places = open_places(&api.host, &id, None, Some(&on)).await.ok()?;
    places.into_iter().find_map(|place| place.stack.details())
}

/// What keeps an invocation from going on at the instant `now`.
fn link(seen: &Invocation, now: i64) -> WhyLink {
    let mut link = WhyLink {
        id: seen.id.clone(),
        target: seen.target.clone(),
        state: seen.state,
        reason: WhyReason::Ended,
        on: None,
        until_at_ms: None,
        others: 0,
        created_at_ms: seen.created_at_ms,
        attempt: seen.attempt,
        note: seen.note.clone(),
        lease: None,
        limit: None,
        place: None,
        commands: Vec::new(),
    };
    let id = seen.id.as_str();
    let command = |words: &[&str]| words.join(" ");
    match seen.state {
        InvocationState::Halted => {
            link.reason = WhyReason::Halted;
            link.commands = vec![
                command(&["segno replay", &quoted(id)]),
                command(&["segno continue", &quoted(id)]),
            ];
        }
        InvocationState::Acquired => {
            link.reason = WhyReason::Running;
            link.lease.clone_from(&seen.lease);
            link.until_at_ms = seen.lease.as_ref().map(|lease| lease.until_at_ms);
        }
        InvocationState::Pending => pending(seen, now, &mut link),
        InvocationState::Suspended => suspended(seen, &mut link),
        InvocationState::Resolved
        | InvocationState::Rejected
        | InvocationState::Cancelled
        | InvocationState::TimedOut => {
            link.commands.push(command(&["segno result", &quoted(id)]));
        }
    }
    link
}

fn pending(seen: &Invocation, now: i64, link: &mut WhyLink) {
    let starts = seen.start_at_ms.filter(|at| *at > now);
    let again = seen.retry_at_ms.filter(|at| *at > now && seen.attempt > 0);
    (link.reason, link.until_at_ms) = match (starts, again) {
        (Some(at), _) => (WhyReason::Delayed, Some(at)),
        (None, Some(at)) => (WhyReason::BackingOff, Some(at)),
        (None, None) => (WhyReason::Offered, None),
    };
    if link.reason == WhyReason::Offered {
        // External workers listen by themselves; a host's are always there.
        link.commands.push("segno task list".to_owned());
    }
}

fn suspended(seen: &Invocation, link: &mut WhyLink) {
    if let Some(limit) = seen.limit.as_ref().filter(|limit| limit.waits.is_some()) {
        link.reason = WhyReason::Limit;
        link.commands.push(format!("segno limit show {} --keys", quoted(&limit.limit)));
        link.limit = Some(limit.clone());
        return;
    }
    if !seen.deadlock.is_empty() {
        link.reason = WhyReason::Deadlocked;
        link.commands.extend(seen.deadlock.iter().map(|id| format!("segno cancel {}", quoted(id))));
        return;
    }
    let mut waits: Vec<&Wait> = seen.waits.iter().collect();
    waits.sort_by_key(|wait| urgency(wait, &seen.id));
    let Some(first) = waits.first() else {
        link.reason = WhyReason::Nothing;
        link.commands.push("segno doctor".to_owned());
        return;
    };
    link.on = Some(first.id.clone());
    link.until_at_ms = first.until_at_ms;
    link.others = seen.waits_count.saturating_sub(1);
    let (id, on) = (seen.id.as_str(), quoted(&first.id));
    link.reason = match first.kind {
        WaitKind::Call => WhyReason::Call,
        WaitKind::Turn => WhyReason::Turn,
        WaitKind::Timer => WhyReason::Timer,
        WaitKind::Signal => {
            link.commands.push(format!("segno signal {} NAME JSON", quoted(&seen.id)));
            WhyReason::Signal
        }
        WaitKind::Promise => match PromiseId::from(id).asked_about(&first.id) {
            Some((saga, step)) => {
                let settle = format!("segno saga settle {} {saga} {step}", quoted(&seen.id));
                link.commands = vec![format!("{settle} --acted"), format!("{settle} --not-acted")];
                WhyReason::SagaStep
            }
            None => {
                link.commands =
                    vec![format!("segno resolve {on} JSON"), format!("segno reject {on} TEXT")];
                WhyReason::Promise
            }
        },
    };
}

/// What is looked at first among several: what needs a person, then what fails, then what is only
/// waited for.
fn urgency(wait: &Wait, waiter: &str) -> u8 {
    match wait.kind {
        WaitKind::Call if wait.state == Some(InvocationState::Halted) => 0,
        WaitKind::Promise if PromiseId::from(waiter).asked_about(&wait.id).is_some() => 1,
        WaitKind::Call if wait.attempt > 0 => 2,
        WaitKind::Promise => 3,
        WaitKind::Turn => 4,
        WaitKind::Call => 5,
        WaitKind::Signal => 6,
        WaitKind::Timer => 7,
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@%+=,".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
