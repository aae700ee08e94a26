//! Upload of a blob.

use axum::{
    Json,
    body::BodyDataStream,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::StreamExt as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use segno_blobs::{BlobError, BlobReference, BlobUpload, DEFAULT_CONTENT_TYPE};
use segno_core::id::Digest;

use crate::{
    Api, ApiError,
    admission::place,
    blobs::view,
    body::{BODY_IDLE_TIMEOUT, LEAST, PathSegment, drain},
    model::BlobView,
    refusals::Refusals,
};

/// The digest of a message (RFC 9530), and its predecessor (RFC 3230).
const DIGEST_HEADERS: [&str; 2] = ["content-digest", "digest"];
const FULL: &str = "it is receiving its maximum number of blobs";

/// Stores the body as a blob of an execution, and answers with its reference. The execution need not
/// exist yet, so that its input can refer to the blob. A blob of a part of a tree belongs to the root,
/// and is removed with it. `Content-Digest: sha-256=:BASE64:` is compared with the content.
#[utoipa::path(
    post, path = "/v1/invocations/{id}/blobs", tag = "invocations", operation_id = "upload_blob",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = BlobView, description = "It is stored"), Refusals),
)]
pub(crate) async fn upload(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let mut pieces = body.into_data_stream();
    let received = async {
        let entry = api.let_in(&parts.extensions).await?;
        let blobs = api.blobs()?;
        let owner = api.blob_owner(id).await?;
        let announced = announced_digest(&parts.headers)?;
        let writer = blobs.create(owner, content_type(&parts.headers)?)?;
        let limit = blobs.bytes_max();
        if content_length(&parts.headers).is_some_and(|length| length > limit) {
            return Err(BlobError::TooLarge { limit }.into());
        }
        let _permit = place(&api.uploads, api.admission.patience(), &api.host.env, FULL).await?;
        // From here on the request takes nothing from others.
        drop(entry);
        receive(&api, &mut pieces, writer, announced).await
    };
    match received.await {
        Ok(blob) => Ok(created(&blob)),
        Err(error) => {
            drain(&api, &mut pieces).await;
            Err(error)
        }
    }
}

async fn receive(
    api: &Api,
    pieces: &mut BodyDataStream,
    mut writer: BlobUpload,
    announced: Option<Digest>,
) -> Result<BlobReference, ApiError> {
    let too_slow = || ApiError::TooSlow { seconds: BODY_IDLE_TIMEOUT.0 / 1000 };
    let mut ended = false;
    while !ended {
        let mut gathered = Vec::new();
        let some = async {
            while gathered.len() < LEAST {
                match pieces.next().await {
                    None => return Ok::<_, ApiError>(true),
                    Some(Ok(piece)) => gathered.extend_from_slice(&piece),
                    Some(Err(error)) => return Err(ApiError::BrokenBody(error.to_string())),
                }
            }
            Ok(false)
        };
        ended = api.host.env.within(BODY_IDLE_TIMEOUT, some).await.ok_or_else(too_slow)??;
        writer.write(&gathered).await?;
    }
    Ok(writer.finish(announced).await?)
}

fn created(blob: &BlobReference) -> Response {
    let owner = utf8_percent_encode(blob.owner.as_str(), NON_ALPHANUMERIC);
    let location = format!("/v1/invocations/{owner}/blobs/{}", blob.digest);
    let mut answer = (StatusCode::CREATED, Json(view(blob))).into_response();
    if let Ok(location) = HeaderValue::try_from(location) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

fn content_type(headers: &HeaderMap) -> Result<&str, ApiError> {
    match headers.get(header::CONTENT_TYPE) {
        None => Ok(DEFAULT_CONTENT_TYPE),
        Some(given) => given.to_str().map(str::trim).map_err(|_| ApiError::BadHeader {
            header: header::CONTENT_TYPE.to_string(),
            reason: "holds other characters than visible ASCII".to_owned(),
        }),
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The SHA-256 that the request announces. Other algorithms are ignored, as the standard says.
fn announced_digest(headers: &HeaderMap) -> Result<Option<Digest>, ApiError> {
    for name in DIGEST_HEADERS {
        for value in headers.get_all(HeaderName::from_static(name)) {
            let text = value.to_str().map_err(|_| ApiError::BadHeader {
                header: name.to_owned(),
                reason: "is not ASCII: write sha-256=:BASE64:".to_owned(),
            })?;
            let items = text.split(',');
            let named = items.filter_map(|item| item.trim().split_once('='));
            let Some((_, given)) =
                named.into_iter().find(|(algorithm, _)| algorithm.eq_ignore_ascii_case("sha-256"))
            else {
                continue;
            };
            let bytes = BASE64_STANDARD.decode(given.trim().trim_matches(':'));
            let digest = bytes.ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            return digest.map(|digest| Some(Digest(digest))).ok_or_else(|| ApiError::BadHeader {
                header: name.to_owned(),
                reason: "holds no SHA-256: write sha-256=:BASE64:".to_owned(),
            });
        }
    }
    Ok(None)
}
