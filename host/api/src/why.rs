//! Diagnosis of an execution that does not progress: follows the chain of waits to the cause.

use axum::{Json, extract::State};
use segno_core::{address, id::PromiseId, tags};
use segno_engine::{stuck::names_a_module, worker::replay::open_places};
use segno_store::{ObjectFilter, ObjectRow};
use serde_json::Value;

use super::{
    Api, ApiError,
    body::PathSegment,
    catalog::CatalogModules,
    invocations::look_at,
    model::{
        HandlerKind, Invocation, InvocationState, Message, MessageKind, Wait, WaitKind, Why,
        WhyAlternative, WhyLink, WhyMessage, WhyReason,
    },
    refusals::Refusals,
    target::ParsedTarget,
};

/// Maximum number of executions in a chain.
const LONGEST: usize = 32;
/// Maximum number of other awaited promises listed.
const ALTERNATIVES: usize = 5;
/// Kinds of notes that report that the code cannot continue.
const CODE: [&str; 3] = ["divergence", "trap", "waits-for-nothing"];

/// Explains why an execution does not progress, and what would resume it.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/why", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Why), Refusals),
)]
pub(crate) async fn why(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<Why>, ApiError> {
    let mut why = Why { chain: Vec::new(), cycle: Vec::new(), more: false };
    let mut next = Some(api.generation(id).await?);
    while let Some(id) = next {
        if let Some(first) = why.chain.iter().position(|link| link.id == id.as_str()) {
            let circle: Vec<String> =
                why.chain[first..].iter().map(|link| link.id.clone()).collect();
            if let Some(last) = why.chain.last_mut() {
                deadlocked(last, &circle);
            }
            why.cycle = circle;
            break;
        }
        if why.chain.len() == LONGEST {
            why.more = true;
            break;
        }
        let seen = match look_at(&api, &id).await {
            Ok(seen) => seen,
            // The execution was removed, or the promise is produced by no function; the previous
            // link says so.
            Err(ApiError::UnknownInvocation(_)) if !why.chain.is_empty() => break,
            Err(error) => return Err(error),
        };
        let mut link = link(&seen, api.host.env.clock.now().0);
        if may_run(link.reason) && is_missing(&api, &seen).await? {
            link.reason = WhyReason::ModuleMissing;
            link.on.clone_from(&seen.module);
            link.commands = vec!["segno deploy PROJECT".to_owned()];
        }
        match link.reason {
            WhyReason::Deadlocked => why.cycle.clone_from(&seen.deadlock),
            WhyReason::Turn => {
                let holder = holder(&api, link.on.as_deref()).await?;
                link.on = holder.or(link.on);
            }
            WhyReason::Halted => link.commands = continuations(&seen, &*api.modules().await?),
            WhyReason::Signal | WhyReason::Promise => {
                takes(&mut link, &seen, &*api.modules().await?);
            }
            _ => {}
        }
        next = match link.reason {
            WhyReason::Call | WhyReason::Turn | WhyReason::Limit => {
                link.on.clone().map(PromiseId::new)
            }
            _ => None,
        };
        why.chain.push(link);
    }
    if let Some(last) = why.chain.last_mut() {
        last.place = place(&api, last).await;
    }
    Ok(Json(why))
}

/// Returns true if an invocation would run now or later if its module existed. Only the last link
/// of a chain is such an invocation, so modules are read once.
fn may_run(reason: WhyReason) -> bool {
    use WhyReason::{BackingOff, Delayed, Halted, Offered};
    matches!(reason, BackingOff | Delayed | Halted | Offered)
}

/// Returns true if the module that an invocation runs is not stored.
async fn is_missing(api: &Api, seen: &Invocation) -> Result<bool, ApiError> {
    let Some(module) = &seen.module else { return Ok(names_a_module(&seen.target)) };
    Ok(!api.modules().await?.0.iter().any(|entry| entry.digest.to_string() == *module))
}

/// Returns the holder of the turn with the object for which this execution waits or runs, without
/// following the queue in between.
async fn holder(api: &Api, id: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(id) = id.map(PromiseId::from) else { return Ok(None) };
    // The object may be in a database that is away.
    let store = api.look().await?.listing(Some(true));
    let Some(row) = store.read().promise(&id).await? else { return Ok(None) };
    let Some(object) = tags::turn(&row.promise.spec.tags) else { return Ok(None) };
    let filter =
        ObjectFilter { prefix: Some(object.to_owned()), limit: 1, ..ObjectFilter::default() };
    let page = store.read().objects(&filter).await?;
    let line = page.items.iter().find(|row| row.object.as_str() == object);
    let Some(holder) = line.and_then(ObjectRow::holder) else { return Ok(None) };
    let row = store.read().promise(holder).await?;
    Ok(row.filter(|row| row.promise.is_pending()).map(|_| holder.to_string()))
}

/// Returns commands that resume a halted execution.
fn continuations(seen: &Invocation, modules: &CatalogModules) -> Vec<String> {
    let id = quoted(&seen.id);
    let mut commands = Vec::new();
    // Only executions of modules have a journal that can be replayed.
    if names_a_module(&seen.target) && seen.journal_len > 0 {
        commands.push(format!("segno replay {id}"));
    }
    let is_its_code = seen.note.as_ref().is_some_and(|note| CODE.contains(&note.kind.as_str()));
    let alias = ParsedTarget::parse(&seen.target).ok().filter(|_| names_a_module(&seen.target));
    let alias = alias.map(|target| target.module.into_owned());
    let present = alias.as_deref().and_then(|alias| modules.find(alias));
    let is_other = present.is_some_and(|entry| Some(entry.digest.to_string()) != seen.module);
    match alias {
        // The alias has pointed to other code since.
        Some(alias) if is_other => {
            commands.push(format!("segno continue {id} --module {}", quoted(&alias)));
        }
        // The same code would fail in the same way.
        Some(alias) if is_its_code && !alias.starts_with("sha256:") => {
            let alias = quoted(&alias);
            commands.push(format!(
                "segno deploy PROJECT --as {alias} && segno continue {id} --module {alias}"
            ));
        }
        _ => {}
    }
    if !is_its_code || commands.is_empty() {
        commands.push(format!("segno continue {id}"));
    }
    commands
}

/// Adds the messages that an execution accepts now, as its module declares them, with commands that
/// send them.
fn takes(link: &mut WhyLink, seen: &Invocation, modules: &CatalogModules) {
    let entry = modules.0.iter().find(|entry| Some(entry.digest.to_string()) == seen.module);
    let name = address::function_of(&seen.target);
    let Some(function) = entry.and_then(|entry| entry.function(&name)) else { return };
    let id = quoted(&seen.id);
    let mut commands = Vec::new();
    if link.reason == WhyReason::Promise {
        let named = |message: &&Message| {
            let promise = PromiseId::from(seen.id.as_str()).named(&message.name);
            message.kind == MessageKind::Promise && link.on.as_deref() == Some(promise.as_str())
        };
        if let Some(message) = function.messages.iter().find(named) {
            let on = quoted(link.on.as_deref().unwrap_or_default());
            commands.push(format!("segno resolve {on} {}", quoted(&example(&message.schema))));
            commands.push(format!("segno reject {on} TEXT"));
            link.takes.push(message_view("promise", &message.name, Some(&message.schema)));
        }
    } else {
        for message in &function.messages {
            if message.kind == MessageKind::Signal {
                let (name, value) = (quoted(&message.name), quoted(&example(&message.schema)));
                commands.push(format!("segno signal {id} {name} {value}"));
                link.takes.push(message_view("signal", &message.name, Some(&message.schema)));
            }
        }
        for handler in &function.handlers {
            if handler.kind == HandlerKind::Update {
                let schema = handler.input_schema.as_ref();
                let value = schema.map(|schema| format!(" {}", quoted(&example(schema))));
                let name = quoted(&handler.name);
                commands.push(format!("segno update {id} {name}{}", value.unwrap_or_default()));
                link.takes.push(message_view("update", &handler.name, schema));
            }
        }
    }
    if !commands.is_empty() {
        link.commands = commands;
    }
}

fn message_view(kind: &str, name: &str, schema: Option<&Value>) -> WhyMessage {
    let value = schema.and_then(type_of).map(str::to_owned);
    WhyMessage { kind: kind.to_owned(), name: name.to_owned(), value }
}

/// Returns the type in a schema, if it has one.
fn type_of(schema: &Value) -> Option<&str> {
    schema.get("type")?.as_str()
}

/// Returns an example value for a schema.
fn example(schema: &Value) -> String {
    let known = schema.get("examples").and_then(|examples| examples.get(0));
    let known = known.or_else(|| schema.get("enum").and_then(|values| values.get(0)));
    if let Some(value) = known.or_else(|| schema.get("default")) {
        return value.to_string();
    }
    match type_of(schema) {
        Some("boolean") => "true".to_owned(),
        Some("integer" | "number") => "1".to_owned(),
        Some("string") => "\"TEXT\"".to_owned(),
        Some("null") => "null".to_owned(),
        Some("array") => "[]".to_owned(),
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let required = schema.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            let fields = names.map(|name| {
                let value = properties.and_then(|properties| properties.get(name));
                format!("{}: {}", Value::from(name), value.map_or("null".to_owned(), example))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        _ => "JSON".to_owned(),
    }
}

/// Makes a link the last one of a deadlock.
fn deadlocked(link: &mut WhyLink, circle: &[String]) {
    link.reason = WhyReason::Deadlocked;
    link.commands = circle.iter().map(|id| format!("segno cancel {}", quoted(id))).collect();
}

/// Returns the place in a workflow's code where it is suspended; `None` if a replay cannot
/// determine it.
async fn place(api: &Api, link: &WhyLink) -> Option<Value> {
    let on = link.on.as_ref().filter(|_| link.state == InvocationState::Suspended)?;
    let (id, on) = (PromiseId::from(link.id.as_str()), PromiseId::from(on.as_str()));
    let places = open_places(&api.host, &id, None, Some(&on)).await.ok()?;
    places.into_iter().find_map(|place| place.stack.details())
}

/// Builds the link of an invocation at the instant `now`.
fn link(seen: &Invocation, now: i64) -> WhyLink {
    let mut link = WhyLink {
        id: seen.id.clone(),
        target: seen.target.clone(),
        state: seen.state,
        reason: WhyReason::Ended,
        on: None,
        until_at_ms: None,
        others: 0,
        alternatives: Vec::new(),
        takes: Vec::new(),
        kept: seen.unread.as_ref().map(|unread| unread.promises.clone()).unwrap_or_default(),
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
    let was_lost = seen.note.as_ref().is_some_and(|note| note.kind == "lost");
    let again = seen.retry_at_ms.filter(|at| *at > now && (seen.attempt > 0 || was_lost));
    (link.reason, link.until_at_ms) = match (starts, again) {
        (Some(at), _) => (WhyReason::Delayed, Some(at)),
        (None, Some(at)) => (WhyReason::BackingOff, Some(at)),
        (None, None) => (WhyReason::Offered, None),
    };
    if link.reason == WhyReason::Offered {
        // A host's workers are always present; external workers have to connect.
        link.commands.push("segno task list".to_owned());
    }
}

fn suspended(seen: &Invocation, link: &mut WhyLink) {
    if let Some((limit, waits)) =
        seen.limit.as_ref().and_then(|limit| Some((limit, limit.waits.as_ref()?)))
    {
        link.reason = WhyReason::Limit;
        link.on = waits.holders.first().map(|holder| holder.id.clone());
        link.until_at_ms = waits.next_token_at_ms.max(waits.debounced_until_ms);
        link.commands.push(format!("segno limit show {} --keys", quoted(&limit.limit)));
        link.limit = Some(limit.clone());
        return;
    }
    if !seen.deadlock.is_empty() {
        deadlocked(link, &seen.deadlock);
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
    let alternatives = waits.iter().skip(1).take(ALTERNATIVES).map(|wait| WhyAlternative {
        id: wait.id.clone(),
        kind: wait.kind,
        until_at_ms: wait.until_at_ms,
    });
    link.alternatives = alternatives.collect();
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

/// Order in which several waits are followed: first those that need a person, then failing ones,
/// then plain waits.
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

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@%+=,".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
