//! Foreign origins whose pages may use a front end.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// The allowed origins; `*` allows all.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(Arc<[String]>);

impl AllowedOrigins {
    /// Allows these origins.
    pub fn new(origins: impl Into<Arc<[String]>>) -> Self {
        Self(origins.into())
    }

    /// Returns true if no origin is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if pages of this origin are allowed.
    pub fn allows(&self, origin: &HeaderValue) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes())
    }

    /// Middleware that answers CORS preflights and adds CORS headers; `None` if no origin is
    /// allowed. Pages may send any header, and read the headers `exposed`.
    pub fn layer(&self, exposed: impl IntoIterator<Item = HeaderName>) -> Option<CorsLayer> {
        if self.0.is_empty() {
            return None;
        }
        // No browser sends an origin that is not a valid header value.
        let allowed = match self.0.iter().any(|origin| origin == "*") {
            true => AllowOrigin::any(),
            false => AllowOrigin::list(
                self.0.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()),
            ),
        };
        let cors = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(exposed.into_iter().collect::<Vec<_>>());
        Some(cors)
    }

    /// Returns true if a request comes from a page of an allowed origin.
    pub fn allow<B>(&self, request: &axum::http::Request<B>) -> bool {
        request.headers().get(header::ORIGIN).is_some_and(|origin| self.allows(origin))
    }
}
