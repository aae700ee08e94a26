//! Previews of values: a deployment converts between JSON and the format of its serdes.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};

use super::{super::error::AdminError, LIMIT};
use crate::front::ServicesApi;

/// Forwards the body to the deployment of a service, to encode or decode it.
pub async fn preview(
    api: ServicesApi,
    request: Request,
    service: &str,
    operation: &str,
) -> Result<Response, AdminError> {
    let (_, deployment) = api.services.of_service(service).await?;
    let (parts, body) = request.into_parts();
    // The raw name of the serde: it may contain slashes and percent-encoded characters.
    let before = format!("/serdes/{operation}/");
    let name = parts.uri.path().split_once(&before).map_or("", |(_, name)| name);
    let path = format!("/serdes/{service}/{operation}/{name}");
    let entry = api.let_in(&parts.extensions).await?;
    let setting = "the limit of requests of operators";
    let (bytes, _room) = api.read(&parts.headers, body, Some(entry), LIMIT, setting).await?;
    let connector = api.services.connector();
    let answer = connector.ask(&deployment.endpoint(), path, Bytes::from(bytes)).await;
    let answer = answer.map_err(|error| AdminError::new(500, error.to_string()))?;
    Ok(Response::new(Body::from(answer.body)))
}
