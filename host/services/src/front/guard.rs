//! Access rules, the same as for the native API.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use segno_api::{AllowedOrigins, ApiError};

use super::error::IngressError;
use crate::front::ServicesApi;

/// Checks the sender of a request.
#[derive(Clone)]
pub(super) struct SenderGuard {
    /// State of the API.
    pub api: ServicesApi,
    /// Foreign origins whose pages may send requests.
    pub origins: AllowedOrigins,
}

/// Middleware that passes on requests with rights over every id. Liveness needs no token.
pub(super) async fn guard(
    State(SenderGuard { api, origins }): State<SenderGuard>,
    request: Request,
    next: Next,
) -> Response {
    let refused = |error: ApiError| {
        let asks = matches!(error, ApiError::Unauthorized(_));
        let mut response = IngressError::from(error).into_response();
        if asks && response.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    };
    if let Err(error) = api.access.check_sender(&request, origins.allow(&request)) {
        return refused(error);
    }
    if !matches!(request.uri().path(), "/health" | "/restate/health") {
        let now = api.host.env.clock.now();
        match api.access.rights_of(request.headers(), None, now) {
            Ok(rights) if rights.prefix().is_some() => {
                let reason = "the token allows only what has an id with a certain beginning; here a token for everything is asked for";
                return refused(ApiError::NoRights(reason.to_owned()));
            }
            Ok(_) => {}
            Err(error) => return refused(error),
        }
    }
    next.run(request).await
}
