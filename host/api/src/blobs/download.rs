//! Download of a blob.

use std::{ops::Range, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures::TryStreamExt as _;
use segno_blobs::{BlobReference, BlobStore};
use segno_core::time::Millis;

use super::range::RequestedRange;
use crate::{
    Api, ApiError,
    blobs::digest,
    body::{PathSegments, UrlQuery},
    model::{BlobAddress, BlobQuery},
    problem_kind as kind,
    refusals::Refusals,
};

/// Size up to which a blob is checked before the answer begins, in bytes. A larger one that is damaged
/// breaks the connection before its last piece.
const CHECKED_FIRST: u64 = 4 << 20;
/// Longest validity of a signed address, in seconds: what S3 allows.
const SIGNED_SECONDS_MAX: u32 = 604_800;

/// Reads a blob of an execution, whole or a range of its bytes.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/blobs/{digest}", tag = "invocations",
    operation_id = "read_blob",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("digest" = String, Path, description = "SHA-256 of the content, in hexadecimal"),
        BlobQuery,
        ("range" = Option<String>, Header, description = "A range, as in `bytes=0-1023`"),
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream",
         description = "The content, in its own content type; with `presign`, the JSON of an address"),
        (status = 206, description = "The range"),
        (status = 304, description = "The client has it (`If-None-Match`)"),
        (status = 416, description = "The range begins after the end"),
        Refusals
    ),
)]
pub(crate) async fn read(
    State(api): State<Api>,
    PathSegments((id, hex)): PathSegments<(String, String)>,
    UrlQuery(query): UrlQuery<BlobQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (blobs, blob) = found(&api, id, &hex).await?;
    if let Some(seconds) = query.presign {
        return signed(&api, blobs, &blob, seconds).await;
    }
    let (status, range) = match requested(&headers, &blob) {
        Ok(requested) => requested,
        Err(answer) => return Ok(*answer),
    };
    let body = if status == StatusCode::PARTIAL_CONTENT {
        Body::from_stream(blobs.read(&blob, range.clone()).await?)
    } else {
        let pieces = blobs.read_whole(&blob).await?;
        match blob.bytes <= CHECKED_FIRST {
            true => Body::from(pieces.try_collect::<Vec<_>>().await?.concat()),
            false => Body::from_stream(pieces),
        }
    };
    Ok(answer(&blob, status, &range, body))
}

/// Describes a blob of an execution: its size, content type and digest, in headers.
#[utoipa::path(
    head, path = "/v1/invocations/{id}/blobs/{digest}", tag = "invocations",
    operation_id = "describe_blob",
    params(
        ("id" = String, Path, description = "The invocation; a slash is written %2F"),
        ("digest" = String, Path, description = "SHA-256 of the content, in hexadecimal"),
    ),
    responses((status = 200, description = "Its headers"), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegments((id, hex)): PathSegments<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (_, blob) = found(&api, id, &hex).await?;
    Ok(match requested(&headers, &blob) {
        Ok((status, range)) => answer(&blob, status, &range, Body::empty()),
        Err(answer) => *answer,
    })
}

async fn found<'a>(
    api: &'a Api,
    id: String,
    hex: &str,
) -> Result<(&'a BlobStore, BlobReference), ApiError> {
    let blobs = api.blobs()?;
    let digest = digest(hex)?;
    let owner = api.blob_owner(id).await?;
    Ok((blobs, blobs.find(&owner, digest).await?.blob))
}

/// The range that the request asks for, or an answer without content.
fn requested(
    headers: &HeaderMap,
    blob: &BlobReference,
) -> Result<(StatusCode, Range<u64>), Box<Response>> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let tag = tag(blob);
    let is_it = |given: &str| {
        given == "*" || given.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
    };
    if text(header::IF_NONE_MATCH).is_some_and(is_it) {
        let mut answer = StatusCode::NOT_MODIFIED.into_response();
        set(answer.headers_mut(), header::ETAG, &tag);
        return Err(Box::new(answer));
    }
    let may_be_part = text(header::IF_RANGE).is_none_or(|given| given.trim() == tag);
    match RequestedRange::of(text(header::RANGE).filter(|_| may_be_part), blob.bytes) {
        RequestedRange::Whole => Ok((StatusCode::OK, 0..blob.bytes)),
        RequestedRange::Part(range) => Ok((StatusCode::PARTIAL_CONTENT, range)),
        RequestedRange::Beyond => {
            let mut answer = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
            let size = format!("bytes */{}", blob.bytes);
            set(answer.headers_mut(), header::CONTENT_RANGE, &size);
            Err(Box::new(answer))
        }
    }
}

fn answer(blob: &BlobReference, status: StatusCode, range: &Range<u64>, body: Body) -> Response {
    let mut answer = (status, body).into_response();
    let headers = answer.headers_mut();
    set(headers, header::CONTENT_TYPE, &blob.content_type);
    set(headers, header::CONTENT_LENGTH, &(range.end - range.start).to_string());
    set(headers, header::ETAG, &tag(blob));
    set(headers, header::ACCEPT_RANGES, "bytes");
    // The owner may be removed, and its id may be given to another.
    set(headers, header::CACHE_CONTROL, "private, no-cache");
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{}", range.start, range.end - 1, blob.bytes);
        set(headers, header::CONTENT_RANGE, &range);
    }
    // A browser that opens it must not run it with the rights of the console.
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox");
    set(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    answer
}

fn tag(blob: &BlobReference) -> String {
    format!("\"{}\"", blob.digest)
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

async fn signed(
    api: &Api,
    blobs: &BlobStore,
    blob: &BlobReference,
    seconds: u32,
) -> Result<Response, ApiError> {
    if !(1..=SIGNED_SECONDS_MAX).contains(&seconds) {
        let reason = format!("is 1 to {SIGNED_SECONDS_MAX} seconds");
        return Err(ApiError::BadField { field: "presign", reason });
    }
    let now = api.host.env.clock.now();
    let url = blobs.presign(blob, Duration::from_secs(seconds.into())).await?;
    let url = url.ok_or_else(|| {
        let reason = "this host signs no addresses: it takes blobs in S3 and `serve --presign`; \
                      read the blob without `presign`";
        ApiError::refused(kind::NOT_SIGNED, reason)
    })?;
    let expires_at_ms = (now + Millis::seconds(seconds.into())).0;
    Ok(Json(BlobAddress { url, expires_at_ms }).into_response())
}
