//! The API without a socket, for commands that read bundles.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderValue, Request, Response, header},
};
use tower::ServiceExt as _;

use super::{Api, router};

/// The router of an API in this process. Cheap to clone.
#[derive(Clone)]
pub struct LocalApi(Router);

impl LocalApi {
    /// Creates the router of `api`.
    pub fn new(api: Api) -> Self {
        Self(router(api))
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The answer ended early.
    pub async fn answer(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>> {
        let mut request = request.map(Body::from);
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
        let Ok(response) = self.0.clone().oneshot(request).await;
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await?;
        Ok(Response::from_parts(parts, body.to_vec()))
    }
}
