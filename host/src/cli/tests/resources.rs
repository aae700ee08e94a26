//! Leasing and writing resources.

use serde_json::json;

use super::{Exit, host, run};

#[tokio::test]
async fn a_resource_is_taken_and_written() {
    let (_world, server) = host().await;
    assert_eq!(run(&server, &["resource", "get", "stock"]).await.exit, Exit::NotFound);
    let lease = ["resource", "lease", "stock", "--holder", "ada", "--for", "1m"];
    let said = run(&server, &lease).await;
    assert!(said.out.starts_with("stock  never written\n"), "{}", said.out);
    assert!(
        said.out.contains("lease     ada, until ") && said.out.contains("token     1"),
        "{}",
        said.out
    );
    let busy = ["resource", "lease", "stock", "--holder", "bob", "--for", "1m"];
    let said = run(&server, &busy).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("held by `ada` until 20"), "{}", said.err);
    let said =
        run(&server, &["resource", "put", "stock", "{\"left\": 12}", "--lease-token", "1"]).await;
    assert!(
        said.out.starts_with("stock  {\"left\":12}\n  written   under token 1\n"),
        "{}",
        said.out
    );
    let said = run(&server, &["resource", "put", "stock", "0", "--lease-token", "1"]).await;
    assert!(said.err.contains("stale"), "{}", said.err);
    let said = run(&server, &["resource", "get", "stock", "--json"]).await;
    assert_eq!((&said.json()["value"], &said.json()["token"]), (&json!({ "left": 12 }), &json!(1)));
}
