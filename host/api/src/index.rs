//! The root of the host: a page for browsers, the same facts for programs.

use axum::{
    Json,
    http::{HeaderMap, header},
    response::{Html, IntoResponse, Response},
};

use super::{model::Index, openapi::Refusals};

/// The page, which loads nothing.
const PAGE: &str = include_str!("index.html");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Says what this is and where to go on: a page for browsers, JSON for other clients. Needs no
/// token.
#[utoipa::path(
    get, path = "/", tag = "host",
    responses(
        (status = 200, content((Index = "application/json"), (String = "text/html"))),
        Refusals,
    ),
)]
pub async fn index(headers: HeaderMap) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    if wants_html(&headers) {
        let page = Html(PAGE.replace("{{version}}", version));
        return ([(header::CONTENT_SECURITY_POLICY, POLICY)], page).into_response();
    }
    Json(Index {
        name: "segno".to_owned(),
        version: version.to_owned(),
        links: ["/ready", "/v1/invocations", "/v1/modules", "/openapi.json", "/metrics"]
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
