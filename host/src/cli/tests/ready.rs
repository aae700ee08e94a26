//! Readiness of a host, for scripts.

use axum::{Router, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use super::{Exit, host, run};

#[tokio::test]
async fn a_host_says_whether_it_takes_work() {
    let (_world, server) = host().await;
    let said = run(&server, &["ready"]).await;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        (said.exit, said.out),
        (Exit::Done, format!("ready  {server}, version {version}\n"))
    );
    let said = run(&server, &["ready", "--json"]).await;
    assert_eq!((said.exit, said.json()["status"].as_str()), (Exit::Done, Some("ready")));
    assert_eq!(run("http://127.0.0.1:1", &["ready"]).await.exit, Exit::Unreachable);
}

#[tokio::test]
async fn a_host_that_starts_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let server = format!("http://{address}");
    assert_eq!(run(&server, &["ready", "--wait", "1ms"]).await.exit, Exit::Unreachable);
    let (world, _) = host().await;
    let start = async {
        world.api.host.env.runtime.sleep(segno_core::time::Millis(150)).await;
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let served = segno_api::serve(listener, world.api.clone(), std::future::pending());
        world.api.host.env.runtime.spawn("server", Box::pin(served));
    };
    let ready = ["ready", "--wait", "30s"];
    let (said, ()) = tokio::join!(run(&server, &ready), start);
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
}

#[tokio::test]
async fn a_host_that_takes_no_work_says_why() {
    let full = async || {
        let problem = r#"{ "type": "about:blank", "title": "Not ready", "status": 503, "code": "store-unavailable",
            "detail": "no space is left on the disk: free some" }"#;
        (StatusCode::SERVICE_UNAVAILABLE, [("content-type", "application/problem+json")], problem)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = axum::serve(listener, Router::new().route("/ready", get(full)));
    let said = tokio::select! {
        said = run(&server, &["ready"]) => said,
        ended = serving => panic!("{ended:?}"),
    };
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("no space is left"), "{}", said.err);
}
