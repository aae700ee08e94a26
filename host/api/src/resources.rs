//! Resources shared by several writers: leases, and fenced writes that a stale writer cannot
//! perform.

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::{PromiseId, ResourceName},
    promise::FenceToken,
    reply::Reply,
    time::Millis,
    value::Text,
};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment},
    model::{ResourceLeaseView, ResourceView, TakeResource, WriteResource},
    refusals::Refusals,
    state::{promise_id, refused, unexpected},
    values::{json_of, stored},
};

/// Reads a resource and its last lease.
#[utoipa::path(
    get, path = "/v1/resources/{name}", tag = "resources",
    params(("name" = String, Path, description = "The resource; a slash is written %2F")),
    responses((status = 200, body = ResourceView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(name): PathSegment,
) -> Result<Json<ResourceView>, ApiError> {
    let name = resource_name(name)?;
    let shown = answered(&api, &name, Command::ResourceGet { name: name.clone() }).await?;
    match shown.value.is_none() && shown.lease.is_none() {
        true => Err(ApiError::UnknownResource(name.to_string())),
        false => Ok(Json(shown)),
    }
}

/// Leases a resource: 409 `resource-busy` while another holder has it. Each lease has a larger
/// token than the previous one.
#[utoipa::path(
    post, path = "/v1/resources/{name}/lease", tag = "resources", request_body = TakeResource,
    params(("name" = String, Path, description = "The resource; a slash is written %2F")),
    responses((status = 200, body = ResourceView), Refusals),
)]
pub(crate) async fn lease(
    State(api): State<Api>,
    PathSegment(name): PathSegment,
    JsonBody(asked, _room): JsonBody<TakeResource>,
) -> Result<Json<ResourceView>, ApiError> {
    let name = resource_name(name)?;
    let ttl = Millis(i64::try_from(asked.ttl_ms).unwrap_or(i64::MAX));
    let holder = Text::from(asked.holder);
    let command = Command::ResourceLease { name: name.clone(), holder, ttl };
    Ok(Json(answered(&api, &name, command).await?))
}

/// Writes a resource: 409 `stale-token` if a token at least as large has written it; the writer
/// must then stop. Repeating the same write changes nothing.
#[utoipa::path(
    put, path = "/v1/resources/{name}", tag = "resources", request_body = WriteResource,
    params(("name" = String, Path, description = "The resource; a slash is written %2F")),
    responses((status = 200, body = ResourceView), Refusals),
)]
pub(crate) async fn write(
    State(api): State<Api>,
    PathSegment(name): PathSegment,
    JsonBody(asked, _room): JsonBody<WriteResource>,
) -> Result<Json<ResourceView>, ApiError> {
    let name = resource_name(name)?;
    let (value, token) = (stored(&asked.value), FenceToken(asked.token));
    if token.0 > i64::MAX.cast_unsigned() {
        let reason = "is larger than any token".to_owned();
        return Err(ApiError::BadField { field: "token", reason });
    }
    let command = Command::FencedPut { name: name.clone(), value, token };
    Ok(Json(answered(&api, &name, command).await?))
}

fn resource_name(name: String) -> Result<ResourceName, ApiError> {
    promise_id(name).map(|name| ResourceName::new(name.as_str()))
}

async fn answered(
    api: &Api,
    name: &ResourceName,
    command: Command,
) -> Result<ResourceView, ApiError> {
    match api.execute(command).await? {
        Reply::Resource { resource, lease } => Ok(ResourceView {
            name: name.to_string(),
            value: resource.as_ref().map(|resource| json_of(&resource.value.data)),
            token: resource.as_ref().map(|resource| resource.token.0),
            lease: lease.map(|lease| ResourceLeaseView {
                token: lease.token.0,
                holder: lease.holder.to_string(),
                until_at_ms: lease.until.0,
            }),
        }),
        Reply::Refused(refusal) => Err(refused(&PromiseId::new(name.as_str()), refusal)),
        other => Err(unexpected(&other)),
    }
}
