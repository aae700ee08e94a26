//! Opens and ends browser sessions.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};

use super::{
    Api, ApiError,
    access::{
        bearer,
        sessions::{self, set_cookie},
    },
    model::Session,
    refusals::Refusals,
};

/// Reports if this host requires a token, and when the sender's session ends.
#[utoipa::path(
    get, path = "/v1/session", tag = "sessions",
    responses((status = 200, body = Session), Refusals),
)]
pub(crate) async fn describe(State(api): State<Api>, headers: HeaderMap) -> Json<Session> {
    let session = api.session(&headers, api.host.env.clock.now());
    Json(shown(&api, session.as_ref()))
}

/// Opens a session that represents the token of this request, and sets its cookie. Modifying
/// requests with the cookie send the session's `csrf` as `x-segno-csrf`. A session ends after 12
/// hours, with its token, or with the host.
#[utoipa::path(
    post, path = "/v1/session", tag = "sessions",
    responses((status = 200, body = Session), Refusals),
)]
pub(crate) async fn open(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    // Without required tokens there is nothing to represent, and a session cannot open another
    // session.
    let token = headers.get(header::AUTHORIZATION).and_then(bearer);
    let Some(token) = token.filter(|_| api.access.needs_token()) else {
        return Ok(describe(State(api), headers).await.into_response());
    };
    let now = api.host.env.clock.now();
    let until = api.access.rights(Some(token), now)?.until();
    let (secret, session) = api.sessions.open(token, until, now)?;
    let seconds = session.ends_at.since(now).0 / 1_000;
    let cookie = set_cookie(&headers, &secret, seconds);
    Ok(([(header::SET_COOKIE, cookie)], Json(shown(&api, Some(&session)))).into_response())
}

/// Ends the session of the sender.
#[utoipa::path(
    delete, path = "/v1/session", tag = "sessions",
    responses((status = 200, body = Session), Refusals),
)]
pub(crate) async fn close(State(api): State<Api>, headers: HeaderMap) -> Response {
    api.sessions.close(&headers);
    let cookie = set_cookie(&headers, "", 0);
    ([(header::SET_COOKIE, cookie)], Json(shown(&api, None))).into_response()
}

fn shown(api: &Api, session: Option<&sessions::BrowserSession>) -> Session {
    Session {
        needs_token: api.access.needs_token(),
        csrf: session.map(|session| session.csrf.clone()),
        ends_at_ms: session.map(|session| session.ends_at.0),
    }
}
