use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use serde_json::Value;
use tower::ServiceExt as _;

use super::{ApiWorld, signed};
use crate::{AccessControl, router};

const TOKEN: &str = "s3cret";
const ORIGIN: (&str, &str) = ("origin", "http://localhost:7766");

fn guarded() -> ApiWorld {
    ApiWorld::with(|_| {
        AccessControl::new(([127, 0, 0, 1], 7766).into(), Some(TOKEN), false, vec![])
            .expect("a token")
    })
}

async fn ask(
    world: &ApiWorld,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, Value) {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header(header::HOST, "localhost:7766");
    request = request.header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer =
        router(world.api.clone()).oneshot(request.body(Body::from("{}")).expect("a request"));
    let answer = answer.await.expect("the router answers");
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
    (status, headers, serde_json::from_slice(&body).unwrap_or_default())
}

/// Opens a session for a token, and returns its cookie and its CSRF text.
async fn login(world: &ApiWorld, token: &str) -> (String, String) {
    let bearer = format!("Bearer {token}");
    let sent = [("authorization", bearer.as_str()), ORIGIN];
    let (status, headers, session) = ask(world, Method::POST, "/v1/session", &sent).await;
    assert_eq!(status, 200, "{session}");
    let cookie = headers[header::SET_COOKIE].to_str().expect("a cookie");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    (cookie, session["csrf"].as_str().expect("a text").to_owned())
}

#[tokio::test]
async fn a_session_stands_for_its_token_and_changes_only_with_its_csrf_text() {
    let world = guarded();
    let wrong = [("authorization", "Bearer wrong"), ORIGIN];
    let (status, headers, _) = ask(&world, Method::POST, "/v1/session", &wrong).await;
    assert_eq!((status, headers.get(header::SET_COOKIE)), (StatusCode::UNAUTHORIZED, None));
    let (cookie, csrf) = login(&world, TOKEN).await;
    let cookie = ("cookie", cookie.as_str());
    let (status, _, session) = ask(&world, Method::GET, "/v1/session", &[cookie]).await;
    assert_eq!((status, &session["csrf"]), (StatusCode::OK, &Value::from(csrf.as_str())));
    assert_eq!(ask(&world, Method::GET, "/v1/modules", &[cookie]).await.0, 200);
    assert_eq!(ask(&world, Method::GET, "/metrics", &[cookie]).await.0, 200);
    let post = async |headers: &[(&str, &str)]| {
        let (status, _, body) = ask(&world, Method::POST, "/v1/events/ack", headers).await;
        (status.as_u16(), body["code"].as_str().unwrap_or_default().to_owned())
    };
    let csrf = ("x-segno-csrf", csrf.as_str());
    assert_eq!(post(&[cookie, csrf]).await, (403, "foreign-origin".into()), "no page");
    let evil = ("origin", "http://localhost:3000");
    assert_eq!(post(&[cookie, csrf, evil]).await, (403, "foreign-origin".into()));
    assert_eq!(post(&[cookie, ORIGIN]).await, (403, "missing-csrf".into()));
    let other = ("x-segno-csrf", "0");
    assert_eq!(post(&[cookie, other, ORIGIN]).await, (403, "missing-csrf".into()));
    assert_eq!(post(&[csrf, ORIGIN]).await, (401, "unauthorized".into()), "no cookie");
    assert_ne!(post(&[cookie, csrf, ORIGIN]).await.0, 403);
    // With the token in the header, neither is required.
    assert_ne!(post(&[("authorization", "Bearer s3cret")]).await.0, 403);
    // A session cannot open another session.
    let (_, headers, _) = ask(&world, Method::POST, "/v1/session", &[cookie, csrf, ORIGIN]).await;
    assert_eq!(headers.get(header::SET_COOKIE), None);
    let (status, headers, _) =
        ask(&world, Method::DELETE, "/v1/session", &[cookie, csrf, ORIGIN]).await;
    assert!(
        status == 200 && headers[header::SET_COOKIE].to_str().expect("text").contains("Max-Age=0")
    );
    assert_eq!(ask(&world, Method::GET, "/v1/modules", &[cookie]).await.0, 401);
}

#[tokio::test]
async fn a_session_has_no_more_rights_than_its_token() {
    let world = ApiWorld::with(|_| signed::access());
    let (cookie, _) = login(&world, &signed::admin()).await;
    let cookie = [("cookie", cookie.as_str())];
    assert_eq!(ask(&world, Method::GET, "/v1/modules", &cookie).await.0, 200);
    let narrow = format!("Bearer {}", signed::of("a:"));
    let sent = [("authorization", narrow.as_str()), ORIGIN];
    let (status, headers, _) = ask(&world, Method::POST, "/v1/session", &sent).await;
    assert_eq!((status.as_u16(), headers.get(header::SET_COOKIE)), (403, None));
}

#[tokio::test]
async fn a_host_without_tokens_has_no_sessions() {
    let world = ApiWorld::new();
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let (status, _, session) = ask(&world, method, "/v1/session", &[]).await;
        assert_eq!((status.as_u16(), session), (200, serde_json::json!({ "needs_token": false })));
    }
}
