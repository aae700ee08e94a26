//! The root path of the host: redirects browsers to the console, and lists further paths for
//! programs.

use axum::{
    Json,
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};

use super::{model::Index, refusals::Refusals};

/// Identifies the host and lists further paths; redirects browsers to the console. Needs no token.
#[utoipa::path(
    get, path = "/", tag = "host",
    responses(
        (status = 200, body = Index),
        (status = 303, description = "To the console, for clients that take HTML"),
        Refusals,
    ),
)]
pub(crate) async fn index(headers: HeaderMap) -> Response {
    if wants_html(&headers) {
        return Redirect::to("/console/").into_response();
    }
    Json(Index {
        name: "segno".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        links: ["/ready", "/v1/invocations", "/v1/modules", "/openapi.json", "/metrics", "/docs/"]
            .map(str::to_owned)
            .to_vec(),
    })
    .into_response()
}

/// Returns true if the client accepts HTML explicitly, as browsers do.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}
