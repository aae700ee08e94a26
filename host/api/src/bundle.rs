//! Bundles: executions with everything that a replay elsewhere needs, in one file.

use std::io::{Read as _, Seek as _, SeekFrom};

use axum::{
    body::Body,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures::stream;
use segno_engine::bundles::{self, BundleMakeError, BundleOptions};
use segno_store::{GatherError, GatherSelection, RequestedExecutions};
use tempfile::SpooledTempFile;

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery},
    model::BundleQuery,
    refusals::Refusals,
};

/// The media type of a bundle.
const BUNDLE: &str = "application/vnd.segno.bundle";
/// Size in bytes above which a bundle is buffered in a file.
const IN_MEMORY: usize = 4 << 20;
/// Number of bytes of the file that are read in one go.
const CHUNK: usize = 64 << 10;

/// Exports a bundle of an invocation: its journal, logs and values, the components that ran it and
/// the engine's settings, all as of one instant. It can be replayed anywhere, without a host. It
/// contains the values of the invocation, unless they are redacted.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/bundle", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F"), BundleQuery),
    responses((status = 200, body = Vec<u8>, content_type = "application/vnd.segno.bundle"), Refusals),
)]
pub(crate) async fn of_invocation(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    UrlQuery(query): UrlQuery<BundleQuery>,
) -> Result<Response, ApiError> {
    let id = api.stored_id(id).await?;
    api.invocation(&id).await?;
    made(&api, RequestedExecutions::Ids(vec![id]), &query).await
}

/// Exports a bundle of all unfinished executions of a module, so that new code can be checked
/// against it elsewhere.
#[utoipa::path(
    get, path = "/v1/modules/{module}/bundle", tag = "modules",
    params(
        ("module" = String, Path, description = "The alias by which the executions were called"),
        BundleQuery,
    ),
    responses((status = 200, body = Vec<u8>, content_type = "application/vnd.segno.bundle"), Refusals),
)]
pub(crate) async fn in_flight(
    State(api): State<Api>,
    PathSegment(module): PathSegment,
    UrlQuery(query): UrlQuery<BundleQuery>,
) -> Result<Response, ApiError> {
    api.digest(&module).await?;
    made(&api, RequestedExecutions::InFlight(module), &query).await
}

/// Builds the complete bundle before sending the first byte: the store is read as of one instant,
/// and a slow receiver does not prolong that.
async fn made(
    api: &Api,
    asked: RequestedExecutions,
    query: &BundleQuery,
) -> Result<Response, ApiError> {
    let selection = GatherSelection { asked, tree: query.tree.unwrap_or_default() };
    let options = BundleOptions {
        redact: query.redact.unwrap_or_default(),
        without_modules: query.without_modules.unwrap_or_default(),
        blobs: query.blobs.unwrap_or_default(),
    };
    if options.blobs && api.host.blobs().is_none() {
        return Err(ApiError::NoBlobs);
    }
    let place = api.look().await?;
    let file = SpooledTempFile::new(IN_MEMORY);
    let (file, _) = bundles::make(&api.host, &selection, options, file).await.map_err(refused)?;
    drop(place);
    let failed =
        |error: std::io::Error| ApiError::Internal(format!("the bundle was lost: {error}"));
    let (mut file, mut length) = (file, 0);
    file.seek(SeekFrom::End(0)).map(|end| length = end).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let chunks = stream::unfold(file, |mut file| async move {
        let mut chunk = Vec::new();
        match file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
            Ok(0) => None,
            Ok(_) => Some((Ok(chunk), file)),
            Err(error) => Some((Err(error), file)),
        }
    });
    let headers =
        [(header::CONTENT_TYPE, BUNDLE.to_owned()), (header::CONTENT_LENGTH, length.to_string())];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

fn refused(error: BundleMakeError) -> ApiError {
    match error {
        BundleMakeError::Gather(GatherError::NotFound(id)) => {
            ApiError::UnknownInvocation(id.to_string())
        }
        BundleMakeError::Gather(GatherError::Store(error)) | BundleMakeError::Store(error) => {
            error.into()
        }
        BundleMakeError::Blob(error) => error.into(),
        error @ (BundleMakeError::Gather(GatherError::Sink(_)) | BundleMakeError::Write(_)) => {
            ApiError::Internal(error.to_string())
        }
    }
}
