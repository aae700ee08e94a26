//! Previews of values: a deployment converts between JSON and the format of its serdes.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};

use crate::front::{
    ServicesApi,
    error::{AdminError, AdminResult},
    request::OF_OPERATORS,
};

/// Forwards the body to the deployment of a service, to encode or decode it.
pub(super) async fn preview(
    api: ServicesApi,
    request: Request,
    service: &str,
    operation: &str,
) -> AdminResult {
    let (_, deployment) = api.services.of_service(service).await?;
    let (parts, body) = request.into_parts();
    // The raw name of the serde: it may contain slashes and percent-encoded characters.
    let before = format!("/serdes/{operation}/");
    let name = parts.uri.path().split_once(&before).map_or("", |(_, name)| name);
    let path = format!("/serdes/{service}/{operation}/{name}");
    let (bytes, _room) = OF_OPERATORS.read(&api, &parts, body).await?;
    let connector = api.services.connector();
    let answer = connector.ask(&deployment.endpoint(), path, Bytes::from(bytes)).await;
    let answer = answer.map_err(|error| AdminError::new(500, error.to_string()))?;
    Ok(Response::new(Body::from(answer.body)))
}
