//! The root of the host: for browsers it leads to the console, for programs it says where to go on.

use axum::{
    Json,
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};

use super::{model::Index, openapi::Refusals};

/// Says what this is and where to go on; browsers are sent to the console. Needs no token.
#[utoipa::path(
    get, path = "/", tag = "host",
    responses(
        (status = 200, body = Index),
        (status = 303, description = "To the console, for clients that take HTML"),
        Refusals,
    ),
)]
pub async fn index(headers: HeaderMap) -> Response {
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

/// Whether the client names HTML among what it takes, as browsers do.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/html"))
}
