//! The blobs of an execution, and their removal.

use axum::{Json, extract::State, http::StatusCode};
use segno_blobs::{BlobError, BlobReference};

use crate::{
    Api, ApiError,
    blobs::{digest, view},
    body::{PathSegment, PathSegments},
    model::{BlobList, ListedBlob},
    refusals::Refusals,
};

/// Maximum number of blobs in a list.
const LISTED: usize = 10_000;

/// Lists the blobs of an execution, which are those of the root of its tree.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/blobs", tag = "invocations", operation_id = "blobs",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = BlobList), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<BlobList>, ApiError> {
    let blobs = api.blobs()?;
    let owner = api.blob_owner(id).await?;
    let mut found = blobs.list(&owner, LISTED + 1).await?;
    let more = found.len() > LISTED;
    found.truncate(LISTED);
    let listed = |stored: &segno_blobs::StoredBlob| ListedBlob {
        blob: view(&stored.blob),
        stored_at_ms: stored.stored_at.0,
    };
    Ok(Json(BlobList { blobs: found.iter().map(listed).collect(), more }))
}

/// Removes a blob of an execution. References to it then lead nowhere.
#[utoipa::path(
    delete, path = "/v1/invocations/{id}/blobs/{digest}", tag = "invocations",
    operation_id = "remove_blob",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("digest" = String, Path, description = "SHA-256 of the content, in hexadecimal"),
    ),
    responses((status = 204, description = "It is removed"), Refusals),
)]
pub(crate) async fn remove(
    State(api): State<Api>,
    PathSegments((id, hex)): PathSegments<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let blobs = api.blobs()?;
    let digest = digest(&hex)?;
    let owner = api.blob_owner(id).await?;
    match blobs.remove(&owner, digest).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => {
            let absent = BlobReference { owner, digest, bytes: 0, content_type: String::new() };
            Err(BlobError::Absent(absent.id()).into())
        }
    }
}
