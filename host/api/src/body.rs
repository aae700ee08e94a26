//! Reading of bodies, queries and paths: bounded in size and time, with descriptive refusals.

use std::pin::pin;

use axum::{
    body::{Body, BodyDataStream},
    extract::{FromRequest, FromRequestParts, Request},
    http::{Extensions, HeaderMap, header, request::Parts},
};
use futures::StreamExt as _;
use segno_core::{
    json::{self, JsonError},
    time::Millis,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Api,
    admission::{AdmissionTicket, BodyPermit, FIRST_BYTE_TIMEOUT},
    error::ApiError,
};

/// Period in which at least 40 KiB of a body (4 KiB per second), or its end, must arrive.
/// Occasional single bytes count as silence.
pub(crate) const BODY_IDLE_TIMEOUT: Millis = Millis(10_000);
pub(crate) const LEAST: usize = 40 * 1024;
/// Maximum time for a whole body.
const WHOLE: Millis = Millis(300_000);
/// Time for which the rest of a refused body is read, so that the client can read the answer.
const DRAIN: Millis = Millis(2_000);
/// Maximum size of a JSON body, in bytes.
const JSON_LIMIT: usize = 4 * 1024 * 1024;

/// A JSON body, and the memory that it takes, held until its handler ends. An empty body reads as
/// `{}`.
pub(crate) struct JsonBody<T>(pub T, pub BodyPermit);

impl<T: DeserializeOwned> FromRequest<Api> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, api: &Api) -> Result<Self, ApiError> {
        let (bytes, room) =
            json_bytes(request, api, JSON_LIMIT, "the limit of JSON bodies").await?;
        Ok(Self(parse(&bytes, check)?, room))
    }
}

/// Maximum size of a JSON body with a plan, in bytes.
const PLAN_LIMIT: usize = 20 * 1024 * 1024;

/// Like [`JsonBody`], for bodies with plans, which may be larger.
pub(crate) struct PlanBody<T>(pub T, pub BodyPermit);

impl<T: DeserializeOwned> FromRequest<Api> for PlanBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, api: &Api) -> Result<Self, ApiError> {
        let (bytes, room) = json_bytes(request, api, PLAN_LIMIT, "the limit of plans").await?;
        Ok(Self(parse(&bytes, check_with_plan)?, room))
    }
}

/// The bytes of a JSON body.
async fn json_bytes(
    request: Request,
    api: &Api,
    limit: usize,
    setting: &'static str,
) -> Result<(Vec<u8>, BodyPermit), ApiError> {
    let (parts, body) = request.into_parts();
    let (bytes, room) = api.admitted(&parts, body, limit, setting).await?;
    if bytes.is_empty() {
        return Ok((b"{}".to_vec(), room));
    }
    check_type(&parts.headers, "application/json")?;
    Ok((bytes, room))
}

/// The parsed query of the URL.
pub(crate) struct UrlQuery<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Api> for UrlQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _api: &Api) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection| ApiError::BadQuery(rejection.body_text()))
    }
}

/// The single variable segment of a path, decoded. It may contain slashes, written as `%2F`.
pub(crate) struct PathSegment(pub String);

impl FromRequestParts<Api> for PathSegment {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        axum::extract::Path::<String>::from_request_parts(parts, api)
            .await
            .map(|axum::extract::Path(segment)| Self(segment))
            .map_err(|rejection| ApiError::BadPath(rejection.body_text()))
    }
}

/// Several segments of the path, decoded.
pub(crate) struct PathSegments<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Api> for PathSegments<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        axum::extract::Path::<T>::from_request_parts(parts, api)
            .await
            .map(|axum::extract::Path(segments)| Self(segments))
            .map_err(|rejection| ApiError::BadPath(rejection.body_text()))
    }
}

/// Checks a request body by the rules for stored values, because it contains such values.
fn check(bytes: &[u8]) -> Result<(), JsonError> {
    json::check_within(bytes, json::REQUEST_DEPTH_MAX)
}

/// Like [`check`], for a request with a plan. Checks only `input`: the plan's parser reports faults
/// of the plan with their locations.
fn check_with_plan(bytes: &[u8]) -> Result<(), JsonError> {
    #[derive(Deserialize)]
    struct InputField<'a> {
        #[serde(borrow, default)]
        input: Option<&'a RawValue>,
    }
    let read = serde_json::from_slice::<InputField<'_>>(bytes);
    let InputField { input } = match read {
        Ok(read) => read,
        // The check of the whole body has a better error message.
        Err(error) => return check(bytes).and(Err(json::not_json(bytes, &error))),
    };
    input.map_or(Ok(()), |input| json::check(input.get()))
}

fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    check: impl FnOnce(&[u8]) -> Result<(), JsonError>,
) -> Result<T, ApiError> {
    // serde would read a list as the fields of an object, in order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let reason = "a list is not expected here, but an object".to_owned();
        return Err(ApiError::BadJson { reason, line: 1, column: 1 });
    }
    check(bytes).map_err(|error| ApiError::BadJson {
        reason: format!("it is not JSON: {error}"),
        line: error.line,
        column: error.column,
    })?;
    serde_json::from_slice(bytes).map_err(|error| ApiError::BadJson {
        reason: error.to_string(),
        line: error.line(),
        column: error.column(),
    })
}

/// Refuses a body whose content type is not `wanted`.
pub(crate) fn check_type(headers: &HeaderMap, wanted: &'static str) -> Result<(), ApiError> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .map_or("missing", |given| given.to_str().unwrap_or("unreadable"));
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    Err(ApiError::WrongContentType { given: given.to_owned(), wanted })
}

impl Api {
    /// Admits a request whose body is still to be read, unless its connection already waited for
    /// the permit.
    pub async fn let_in(&self, came: &Extensions) -> Result<OwnedSemaphorePermit, ApiError> {
        match came.get().and_then(AdmissionTicket::take) {
            Some(place) => place,
            None => self.admission.request(&self.host.env).await,
        }
    }

    /// Waits for admission of a request, and reads its body like [`read`](Self::read).
    pub(super) async fn admitted(
        &self,
        parts: &Parts,
        body: Body,
        limit: usize,
        setting: &'static str,
    ) -> Result<(Vec<u8>, BodyPermit), ApiError> {
        match self.let_in(&parts.extensions).await {
            Ok(entry) => self.read(&parts.headers, body, Some(entry), limit, setting).await,
            Err(refused) => {
                drain(self, &mut body.into_data_stream()).await;
                Err(refused)
            }
        }
    }

    /// Reads a body of at most `limit` bytes; `setting` names the setting of the limit. Dropping
    /// the second part of the result releases the memory, and with it the `entry` of an admitted
    /// request. The body of a refused request is also read, so that the refusal can identify the
    /// request.
    pub async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        mut entry: Option<OwnedSemaphorePermit>,
        limit: usize,
        setting: &'static str,
    ) -> Result<(Vec<u8>, BodyPermit), ApiError> {
        let env = &self.host.env;
        let too_large = ApiError::TooLarge { limit: limit as u64, setting };
        let announced = headers
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<u64>().ok())
            .unwrap_or(0);
        let mut pieces = body.into_data_stream();
        if announced > limit as u64 {
            drain(self, &mut pieces).await;
            return Err(too_large);
        }
        let too_slow = || ApiError::TooSlow { seconds: BODY_IDLE_TIMEOUT.0 / 1000 };
        let mut room = self.admission.body();
        let whole = async {
            let mut bytes = Vec::new();
            loop {
                let so_far = bytes.len();
                let some = async {
                    while bytes.len() < so_far + LEAST {
                        let Some(piece) = pieces.next().await else { return Ok(BodyProgress::All) };
                        let piece =
                            piece.map_err(|error| ApiError::BrokenBody(error.to_string()))?;
                        if bytes.len() + piece.len() > limit {
                            return Ok::<_, ApiError>(BodyProgress::TooMuch);
                        }
                        room.grow(piece.len())?;
                        bytes.extend_from_slice(&piece);
                    }
                    Ok(BodyProgress::Some)
                };
                match env.within(BODY_IDLE_TIMEOUT, some).await.ok_or_else(too_slow)?? {
                    BodyProgress::Some => {}
                    BodyProgress::All => return Ok::<_, ApiError>(Some(bytes)),
                    BodyProgress::TooMuch => return Ok(None),
                }
            }
        };
        let read = {
            let mut whole = pin!(env.within(WHOLE, whole));
            match env.within(FIRST_BYTE_TIMEOUT, &mut whole).await {
                Some(read) => read,
                None => {
                    drop(entry.take());
                    whole.await
                }
            }
        };
        match read.ok_or_else(too_slow)?? {
            Some(bytes) => Ok((bytes, room.within(entry))),
            None => {
                drain(self, &mut pieces).await;
                Err(too_large)
            }
        }
    }
}

/// The progress of reading a body within one period.
enum BodyProgress {
    Some,
    All,
    TooMuch,
}

/// Reads the rest of a refused body for a moment.
pub(crate) async fn drain(api: &Api, pieces: &mut BodyDataStream) {
    let rest = async { while let Some(Ok(_)) = pieces.next().await {} };
    api.host.env.within(DRAIN, rest).await;
}
