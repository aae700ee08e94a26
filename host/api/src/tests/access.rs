use axum::{
    body::Body,
    http::{Request, header},
};

use super::{
    ApiWorld,
    signed::{self, LATER, admin, of, token},
};
use crate::{AccessControl, TokenVerifier};

fn request(path: &str, headers: &[(header::HeaderName, &str)]) -> Request<Body> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(Body::empty()).expect("a request")
}

fn guarded() -> ApiWorld {
    ApiWorld::with(|_| {
        AccessControl::new(([10, 0, 0, 1], 7766).into(), Some("s3cret"), false, vec![])
            .expect("a token")
    })
}

#[tokio::test]
async fn a_foreign_host_is_refused_also_on_loopback() {
    let world = ApiWorld::new();
    for host in ["evil.example", "evil.example:7766", "10.0.0.1"] {
        let answer = world.ask(request("/v1/modules", &[(header::HOST, host)])).await;
        assert!(answer.problem(403, "foreign-host").contains(host));
    }
    world.ask(request("/v1/modules", &[(header::HOST, "127.0.0.1:7766")])).await.ok();
    let twice = [(header::HOST, "localhost"), (header::HOST, "localhost")];
    world.ask(request("/health", &twice)).await.problem(403, "foreign-host");
    let absolute = request("http://evil.example/v1/modules", &[(header::HOST, "localhost")]);
    world.ask(absolute).await.problem(403, "foreign-host");
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let world = ApiWorld::new();
    for origin in ["http://evil.example", "null", "http://localhost:3000", "https://127.0.0.1:7766"]
    {
        let headers = [(header::HOST, "localhost:7766"), (header::ORIGIN, origin)];
        let answer = world.ask(request("/health", &headers)).await;
        assert!(answer.problem(403, "foreign-origin").contains(origin));
    }
    let own = [(header::HOST, "localhost:7766"), (header::ORIGIN, "http://localhost:7766")];
    world.ask(request("/v1/modules", &own)).await.ok();
}

#[tokio::test]
async fn a_token_is_asked_for_on_every_route_but_the_probes() {
    let world = guarded();
    let host = (header::HOST, "10.0.0.1:7766");
    for path in ["/v1/modules", "/v1/invocations", "/openapi.json", "/nothing"] {
        let answer = world.ask(request(path, std::slice::from_ref(&host))).await;
        answer.problem(401, "unauthorized");
        for wrong in
            ["Bearer wrong", "Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret", "Bearer "]
        {
            let headers = [host.clone(), (header::AUTHORIZATION, wrong)];
            world.ask(request(path, &headers)).await.problem(401, "unauthorized");
        }
    }
    let headers = [host.clone(), (header::AUTHORIZATION, "bearer s3cret")];
    world.ask(request("/v1/modules", &headers)).await.ok();
    for probe in ["/health", "/ready"] {
        world.ask(request(probe, std::slice::from_ref(&host))).await.ok();
    }
}

#[tokio::test]
async fn signed_tokens_are_taken_if_they_allow_everything() {
    let world = ApiWorld::with(|_| signed::access());
    let ask = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [(header::HOST, "localhost:7766"), (header::AUTHORIZATION, &bearer)];
        world.ask(request("/v1/modules", &headers)).await
    };
    for good in [admin(), of(""), signed::HOST.to_owned()] {
        ask(&good).await.ok();
    }
    let narrow = ask(&of("a:")).await;
    assert!(narrow.problem(403, "not-allowed").contains("a token for everything"));
    let nothing = ask(&token(&serde_json::json!({ "exp": LATER }))).await;
    assert!(nothing.problem(403, "not-allowed").contains("allows nothing"));
    for (bad, says) in [
        (token(&serde_json::json!({ "exp": 1, "role": "admin" })), "expired"),
        (token(&serde_json::json!({ "role": "admin" })), "`exp`"),
        ("hello".to_owned(), "malformed"),
        ("x".repeat(9_000), "longer than"),
    ] {
        let answer = ask(&bad).await;
        let detail = answer.problem(401, "unauthorized");
        assert!(detail.contains(says) && !detail.contains(&bad), "{detail}");
    }
    let open = request("/v1/modules", &[(header::HOST, "localhost:7766")]);
    world.ask(open).await.problem(401, "unauthorized");
    world.get("/health").await.ok();
}

#[test]
fn keys_make_a_host_safe_beyond_this_machine() {
    let open = ([0, 0, 0, 0], 7766).into();
    let signed = |jwt| AccessControl::signed(open, None, jwt, false, vec![]);
    assert!(signed(None).is_err());
    assert!(
        signed(Some(TokenVerifier::new(None, None)))
            .expect("such a host refuses every client")
            .needs_token()
    );
}
