//! Objects: calling their functions, reading and changing their state.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use segno_core::{
    address::service_of_alias,
    command::Command,
    id::{ObjectId, PromiseId},
    object::StateWrite,
    reply::Reply,
    tags,
    transition::turn_in,
    value::{Payload, Text},
};
use segno_engine::values::{self, journals};
use segno_store::{ObjectFilter, PromiseFilter, Store};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegments, UrlQuery},
    model::{
        CallObject, ChangeState, ObjectItem, ObjectList, ObjectQuery, ObjectView, Started,
        StateQuery,
    },
    page,
    refusals::Refusals,
    start,
    state::{refused, unexpected},
    view,
};

/// Maximum total size of the values in one answer, in bytes.
const SHOWN_BYTES: u64 = 1 << 20;

/// Lists objects with state or with a retained invocation, by name.
#[utoipa::path(
    get, path = "/v1/objects", tag = "objects", params(ObjectQuery),
    responses((status = 200, body = ObjectList), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<ObjectQuery>,
) -> Result<Json<ObjectList>, ApiError> {
    let limit = page::LISTING.of(query.limit)?;
    let after = query.after.map(|name| ObjectId::from(name.as_str()));
    let store = api.look().await?.listing(query.partial);
    let found = store.read().objects(&ObjectFilter { prefix: query.prefix, after, limit }).await;
    let found = found.map_err(|error| store.incomplete(error))?;
    let holders: Vec<PromiseId> =
        found.items.iter().filter_map(|row| row.holder().cloned()).collect();
    let held = held(&*store, &holders).await?;
    let item = |row: &segno_store::ObjectRow| ObjectItem {
        object: row.object.to_string(),
        names: row.names,
        bytes: row.bytes,
        holder: row
            .holder()
            .filter(|id| held.get(*id) == Some(&row.object))
            .map(ToString::to_string),
    };
    Ok(Json(ObjectList {
        items: found.items.iter().map(item).collect(),
        missing: store.left_out(),
        next: found.next.map(|object| object.to_string()),
    }))
}

/// Reads an object: its state, and the holder of its turn. An object that was never written has no
/// state.
#[utoipa::path(
    get, path = "/v1/objects/{module}/{object}/{key}", tag = "objects",
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
        StateQuery,
    ),
    responses((status = 200, body = ObjectView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegments(path): PathSegments<(String, String, String)>,
    UrlQuery(query): UrlQuery<StateQuery>,
) -> Result<Json<ObjectView>, ApiError> {
    let object = named(&path)?;
    let store = api.look().await?;
    shown(&*store, object, query.name.as_deref()).await.map(Json)
}

/// Changes the state of an object: 409 `object-busy` while an invocation holds the turn, or waits
/// for it.
#[utoipa::path(
    patch, path = "/v1/objects/{module}/{object}/{key}", tag = "objects",
    request_body = ChangeState,
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
    ),
    responses((status = 200, body = ObjectView), Refusals),
)]
pub(crate) async fn change(
    State(api): State<Api>,
    PathSegments(path): PathSegments<(String, String, String)>,
    JsonBody(change, _room): JsonBody<ChangeState>,
) -> Result<Json<ObjectView>, ApiError> {
    let object = named(&path)?;
    let cleared = change.clear.iter().map(|name| (Text::from(name.as_str()), None));
    let set = change.set.iter().map(|(name, value)| {
        (Text::from(name.as_str()), Some(Payload::Json(Text::from(value.to_string()))))
    });
    let write = StateWrite { clears: change.clear_all, entries: cleared.chain(set).collect() };
    match api.execute(Command::ObjectWrite { object: object.clone(), write }).await? {
        Reply::Done => {}
        Reply::Refused(refusal) => return Err(refused(&PromiseId::new(object.as_str()), refusal)),
        other => return Err(unexpected(&other)),
    }
    shown(&*api.host.store, object, None).await.map(Json)
}

/// Calls a function of an object, as `POST /v1/invocations` does with the target
/// `MODULE/OBJECT@KEY/FUNCTION`.
#[utoipa::path(
    post, path = "/v1/objects/{module}/{object}/{key}/{function}", tag = "objects",
    request_body = CallObject,
    params(
        ("module" = String, Path, description = "The alias of the module"),
        ("object" = String, Path, description = "The kind of object"),
        ("key" = String, Path, description = "The key; a slash is written %2F"),
        ("function" = String, Path, description = "The function"),
    ),
    responses(
        (status = 200, body = Started, description = "An invocation with this id exists"),
        (status = 201, body = Started, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn call(
    State(api): State<Api>,
    headers: HeaderMap,
    PathSegments((module, object, key, function)): PathSegments<(String, String, String, String)>,
    JsonBody(call, room): JsonBody<CallObject>,
) -> Result<(StatusCode, Json<Started>), ApiError> {
    let request = call.of(format!("{module}/{object}@{key}/{function}"));
    Box::pin(start::begin(api, headers, request, room)).await
}

pub(super) fn named(
    (module, object, key): &(String, String, String),
) -> Result<ObjectId, ApiError> {
    let is_part = |part: &str| !part.is_empty() && !part.contains(['/', '@', ':', ' ']);
    // Keys of registered services may be empty, and their modules have names with a colon.
    let service = service_of_alias(module);
    let is_keyed = service.is_some() || !key.is_empty();
    if !is_part(service.unwrap_or(module)) || !is_part(object) || !is_keyed {
        let reason = format!(
            "`{module}/{object}@{key}` is not the name of an object: use the alias of a module, a kind of object, and a key"
        );
        return Err(ApiError::BadPath(reason));
    }
    Ok(ObjectId::new(format!("{module}/{object}@{key}")))
}

/// Returns the invocations that have not settled, each with the object whose turn it holds or
/// awaits.
pub async fn held(
    store: &dyn Store,
    ids: &[PromiseId],
) -> Result<BTreeMap<PromiseId, ObjectId>, ApiError> {
    let rows = store.read().promises(ids).await?;
    let pending = rows.into_iter().flatten().filter(|row| row.promise.is_pending());
    Ok(pending.filter_map(|row| Some((row.promise.id().clone(), turn_in(&row.promise)?))).collect())
}

async fn shown(
    store: &dyn Store,
    object: ObjectId,
    name: Option<&str>,
) -> Result<ObjectView, ApiError> {
    let read = store.read();
    let sizes = read.object_names(&object).await?;
    let mut bytes = 0;
    let fits = |size: &&segno_store::StateSize| {
        bytes += size.bytes;
        bytes <= SHOWN_BYTES
    };
    let wanted: Vec<Text> = match name {
        Some(name) => vec![Text::from(name)],
        None => sizes.iter().take_while(fits).map(|size| size.name.clone()).collect(),
    };
    let values = match wanted.is_empty() {
        true => BTreeMap::new(),
        false => read.object_state(&object, &wanted).await?,
    };
    // Finds the queue through the list entry of the object with exactly this name.
    let filter = ObjectFilter { prefix: Some(object.to_string()), after: None, limit: 1 };
    let row = read.objects(&filter).await?.items.into_iter().find(|row| row.object == object);
    let line = row.and_then(|row| row.line);
    let members: Vec<PromiseId> = line.iter().flat_map(|line| line.members().cloned()).collect();
    let held = held(store, &members).await?;
    let in_line = |id: &&PromiseId| held.get(*id) == Some(&object);
    let holder = line.as_ref().and_then(|line| line.holder.as_ref()).filter(in_line);
    let last =
        line.as_ref().map(|line| &line.tail).filter(in_line).filter(|id| Some(*id) != holder);
    let filter = PromiseFilter {
        prefix: Some(object.promises()[0].to_string()),
        tags: [(tags::OBJECT.to_owned(), object.to_string())].into(),
        ..PromiseFilter::default()
    };
    let promises = read.find(&filter).await?.items;
    let state_of = |row: &segno_store::PromiseRow| {
        // The streams of the object have a list of their own.
        let id = Some(row.promise.id()).filter(|id| **id != object.streams())?;
        let name = object.name_of(id)?.to_owned();
        Some((name, view::promise_state(&row.promise)))
    };
    Ok(ObjectView {
        run: line.as_ref().and_then(|line| line.run.as_ref()).map(ToString::to_string),
        promises: promises.iter().filter_map(state_of).collect(),
        holder: holder.map(ToString::to_string),
        last: last.map(ToString::to_string),
        names: sizes.into_iter().map(|size| (size.name.to_string(), size.bytes)).collect(),
        state: values
            .iter()
            .map(|(name, value)| {
                (name.to_string(), values::payload_json(&journals::guest_payload(value)))
            })
            .collect(),
        object: object.to_string(),
    })
}
