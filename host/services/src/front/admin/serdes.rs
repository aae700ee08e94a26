//! Previews of values: a deployment turns what its serdes write into JSON, and JSON into that.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};

use super::{super::error::AdminError, LIMIT};
use crate::front::Api;

/// Has the deployment of a service encode or decode the body.
pub async fn preview(
    api: Api,
    request: Request,
    service: &str,
    operation: &str,
) -> Result<Response, AdminError> {
    let (_, deployment) = api.services.of_service(service).await?;
    let (parts, body) = request.into_parts();
    // The name of the serde as it was sent: it may have slashes, and what a URL does not hold.
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
