//! Parts of requests: bodies, and parameters of the query.

use axum::{body::Body, extract::Request, http::request::Parts};
use segno_api::ApiError;
use serde::de::DeserializeOwned;

use super::{
    ServicesApi,
    error::{AdminError, AdminResult},
};

/// Maximum size of a body.
pub(super) struct BodyLimit {
    bytes: usize,
    /// The name of the limit in refusals.
    setting: &'static str,
}

/// Limit for callers of services.
pub(super) const OF_CALLERS: BodyLimit =
    BodyLimit { bytes: 32 << 20, setting: "the limit of requests to services" };
/// Limit for operators.
pub(super) const OF_OPERATORS: BodyLimit =
    BodyLimit { bytes: 8 << 20, setting: "the limit of requests of operators" };

impl BodyLimit {
    /// Reads the body of an admitted request. The second value holds the permit for its size.
    pub(super) async fn read(
        &self,
        api: &ServicesApi,
        parts: &Parts,
        body: Body,
    ) -> Result<(Vec<u8>, impl Send + use<>), ApiError> {
        let entry = api.let_in(&parts.extensions).await?;
        api.read(&parts.headers, body, Some(entry), self.bytes, self.setting).await
    }
}

/// Parses the JSON body of an operator's request.
pub(super) async fn json_of_operator<T: DeserializeOwned>(
    api: &ServicesApi,
    request: Request,
) -> AdminResult<T> {
    let (parts, body) = request.into_parts();
    let (bytes, _room) = OF_OPERATORS.read(api, &parts, body).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| AdminError::new(400, format!("the body cannot be read: {error}")))
}

/// Returns the value of a parameter in a query.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}
