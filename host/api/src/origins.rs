//! Origins whose pages may use a front end, beside this host's own.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// Origins that were allowed by name; `*` allows all.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(Arc<[String]>);

impl AllowedOrigins {
    /// These origins.
    pub fn new(origins: impl Into<Arc<[String]>>) -> Self {
        Self(origins.into())
    }

    /// Whether pages of this origin are allowed.
    pub fn allows(&self, origin: &HeaderValue) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes())
    }

    /// Answers for preflights and marks answers for pages; `None` if no origin is allowed. Pages may send every header
    /// that they name, and read the headers `exposed`.
    pub fn layer(&self, exposed: impl IntoIterator<Item = HeaderName>) -> Option<CorsLayer> {
        if self.0.is_empty() {
            return None;
        }
        // One that is no value of a header is sent by no browser.
        let allowed = match self.0.iter().any(|origin| origin == "*") {
            true => AllowOrigin::any(),
            false => AllowOrigin::list(
                self.0.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()),
            ),
        };
        let cors = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(exposed.into_iter().collect::<Vec<_>>());
        Some(cors)
    }

    /// Whether a request comes from a page of an allowed origin.
    pub fn allow<B>(&self, request: &axum::http::Request<B>) -> bool {
        request.headers().get(header::ORIGIN).is_some_and(|origin| self.allows(origin))
    }
}
