//! Requests answered by a host in the same process.

use async_trait::async_trait;
use reqwest::{Request, Response};

/// A host in this process.
#[async_trait]
pub trait LocalHost: Send + Sync {
    /// Answers a request.
    ///
    /// # Errors
    /// A sentence that says why the answer is missing or incomplete.
    async fn answer(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, String>;
}

/// Sends a request to `host`.
///
/// # Errors
/// A sentence that says why there is no answer.
pub(super) async fn send(host: &dyn LocalHost, request: Request) -> Result<Response, String> {
    let body = request.body().map(|body| body.as_bytes().map(<[u8]>::to_vec));
    let body = body.unwrap_or_else(|| Some(Vec::new()));
    let body = body.ok_or("the request is a stream, which only a network takes")?;
    let request =
        http::Request::<reqwest::Body>::try_from(request).map_err(|error| error.to_string())?;
    let (parts, _) = request.into_parts();
    host.answer(http::Request::from_parts(parts, body)).await.map(Response::from)
}
