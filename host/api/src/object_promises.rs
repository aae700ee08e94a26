//! Promises of objects, by name. Settling a promise creates it if it does not exist.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::ObjectId,
    object::LONGEST_NAME,
    promise::{NewPromise, Promise, Verdict},
    reply::Reply,
    tags,
    time::Timestamp,
    value::Value as Stored,
};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegments},
    model::{ObjectPromiseView, PromiseState, RejectPromise, ResolvePromise},
    objects::named,
    promises::rejection,
    refusals::Refusals,
    state::{refused, unexpected},
    values::stored,
    view,
};

/// Module, object kind, key, name.
type ObjectPromisePath = (String, String, String, String);

/// Reads a promise of an object. A promise that has not been created is pending.
#[utoipa::path(
    get, path = "/v1/objects/{module}/{object}/{key}/promises/{name}", tag = "objects",
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
        ("name" = String, Path, description = "The name of the promise; a slash is written %2F"),
    ),
    responses((status = 200, body = ObjectPromiseView), Refusals),
)]
pub(crate) async fn promise(
    State(api): State<Api>,
    PathSegments(path): PathSegments<ObjectPromisePath>,
) -> Result<Json<ObjectPromiseView>, ApiError> {
    let (object, name) = of(&api, path).await?;
    let store = api.look().await?;
    let row = store.read().promise(&object.promise(&name)).await?;
    shown(&api, &object, name, row.as_ref().map(|row| &row.promise), None).await
}

/// Resolves a promise of an object, before, while or after an invocation waits for it. A promise
/// settles once: later attempts return the first outcome.
#[utoipa::path(
    post, path = "/v1/objects/{module}/{object}/{key}/promises/{name}/resolve", tag = "objects",
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
        ("name" = String, Path, description = "The name of the promise; a slash is written %2F"),
    ),
    request_body = ResolvePromise,
    responses((status = 200, body = ObjectPromiseView), Refusals),
)]
pub(crate) async fn resolve_promise(
    State(api): State<Api>,
    PathSegments(path): PathSegments<ObjectPromisePath>,
    JsonBody(body, _room): JsonBody<ResolvePromise>,
) -> Result<Json<ObjectPromiseView>, ApiError> {
    settle(&api, path, Verdict::Resolved, stored(&body.value)).await
}

/// Rejects a promise of an object with a failure, or with any JSON value.
#[utoipa::path(
    post, path = "/v1/objects/{module}/{object}/{key}/promises/{name}/reject", tag = "objects",
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
        ("name" = String, Path, description = "The name of the promise; a slash is written %2F"),
    ),
    request_body = RejectPromise,
    responses((status = 200, body = ObjectPromiseView), Refusals),
)]
pub(crate) async fn reject_promise(
    State(api): State<Api>,
    PathSegments(path): PathSegments<ObjectPromisePath>,
    JsonBody(body, _room): JsonBody<RejectPromise>,
) -> Result<Json<ObjectPromiseView>, ApiError> {
    settle(&api, path, Verdict::Rejected, rejection(body)?).await
}

async fn settle(
    api: &Api,
    path: ObjectPromisePath,
    verdict: Verdict,
    value: Stored,
) -> Result<Json<ObjectPromiseView>, ApiError> {
    let (object, name) = of(api, path).await?;
    let id = object.promise(&name);
    let make = Command::PromiseCreate(NewPromise {
        id: id.clone(),
        param: Stored::default(),
        tags: [(tags::OBJECT.to_owned(), object.to_string())].into(),
        timeout_at: Timestamp::NEVER,
    });
    // If the promise is created and then not settled, repeating the request settles it.
    for command in [make, Command::PromiseSettle { id: id.clone(), verdict, value }] {
        match api.execute(command).await? {
            Reply::Promise { promise, changed } if !promise.is_pending() => {
                return shown(api, &object, name, Some(&promise), Some(changed)).await;
            }
            Reply::Promise { .. } => {}
            Reply::Refused(refusal) => return Err(refused(&id, refusal)),
            other => return Err(unexpected(&other)),
        }
    }
    Err(ApiError::Internal(format!("`{id}` is pending, and was settled")))
}

/// Parses the object and the name, and checks that a module has this kind of object.
async fn of(
    api: &Api,
    (module, kind, key, name): ObjectPromisePath,
) -> Result<(ObjectId, String), ApiError> {
    let object = named(&(module.clone(), kind.clone(), key))?;
    if name.is_empty() || name.len() > LONGEST_NAME {
        let reason = format!(
            "the name of a promise has 1 to {LONGEST_NAME} bytes, and this one has {}",
            name.len()
        );
        return Err(ApiError::BadPath(reason));
    }
    let modules = match api.remembered() {
        Some(modules) if modules.find(&module).is_some() => modules,
        _ => api.modules().await?,
    };
    let entry = modules.find(&module).ok_or_else(|| ApiError::UnknownModule {
        name: module.clone(),
        known: modules.aliases(),
    })?;
    let kind_of = |function: &str| function.split_once('/').map(|(kind, _)| kind.to_owned());
    let functions = || entry.module.description.functions.iter();
    if functions().any(|function| kind_of(&function.name).as_ref() == Some(&kind)) {
        return Ok((object, name));
    }
    Err(ApiError::UnknownFunction {
        module,
        function: format!("{kind}/…"),
        known: functions().map(|function| function.name.clone()).collect(),
    })
}

async fn shown(
    api: &Api,
    object: &ObjectId,
    name: String,
    promise: Option<&Promise>,
    changed: Option<bool>,
) -> Result<Json<ObjectPromiseView>, ApiError> {
    let id = object.promise(&name);
    let waits = api.host.store.read().waits(&id).await?;
    Ok(Json(ObjectPromiseView {
        object: object.to_string(),
        name,
        id: id.to_string(),
        state: promise.map_or(PromiseState::Pending, view::promise_state),
        value: promise.and_then(view::output),
        failure: promise.and_then(view::failure),
        awaited_by: waits.awaited_by.iter().map(ToString::to_string).collect(),
        settled_at_ms: promise
            .and_then(Promise::settlement)
            .map(|settlement| settlement.settled_at.0),
        changed,
    }))
}
