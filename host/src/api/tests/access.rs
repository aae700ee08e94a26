use axum::{
    body::Body,
    http::{Request, header},
};

use super::World;
use crate::api::Access;

fn request(path: &str, headers: &[(header::HeaderName, &str)]) -> Request<Body> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(Body::empty()).expect("a request")
}

fn guarded() -> World {
    World::with(|_| {
        Access::new(([10, 0, 0, 1], 7766).into(), Some("s3cret"), false, vec![]).expect("a token")
    })
}

#[tokio::test]
async fn a_foreign_host_is_refused_also_on_loopback() {
    let world = World::new();
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
    let world = World::new();
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
