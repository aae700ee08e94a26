//! Runs by key, and the promises of objects.

use super::{Exit, host, run, run_in};

const OBJECT: &str = "web/Signup@ada";

#[tokio::test]
async fn a_key_is_enough_to_start_a_run_and_to_find_it() {
    let (world, server) = host().await;
    world.upload("web", "wasm Signup/run Signup/confirm").await.ok();
    let start = ["start", "web/Signup@ada/run", "\"ada@example.org\""];
    let said = run(&server, &start).await;
    assert!(said.out.starts_with("web/Signup@ada/run  "), "{}", said.out);
    let said = run(&server, &start).await;
    assert!(said.out.contains("web/Signup@ada/run"), "{}", said.out);
    let said = run(&server, &["inspect", "web/Signup@ada/run"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    let said = run(&server, &["object", "get", OBJECT]).await;
    assert!(said.out.contains("  run       web/Signup@ada/run\n"), "{}", said.out);
    let said = run_in(Some(80), &server, &[&start[..], &["--id", "mine"]].concat()).await;
    assert_eq!(said.exit, Exit::Error);
    let whole = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        whole.contains("read it by its id, `web/Signup@ada/run`, or use another key"),
        "{whole}"
    );
    assert!(said.err.lines().all(|line| line.chars().count() <= 80), "{}", said.err);
    let said = run(&server, &["modules", "web"]).await;
    assert!(said.out.contains("once a key"), "{}", said.out);
}

#[tokio::test]
async fn a_promise_of_an_object_is_shown_and_settled_by_name() {
    let (world, server) = host().await;
    world.upload("web", "wasm Signup/run Signup/confirm").await.ok();
    let promise = |how: &'static str| ["object", "promise", how, OBJECT, "confirmed"];
    let said = run(&server, &promise("get")).await;
    assert_eq!(said.out, "web/Signup@ada/p/confirmed  pending\n");
    let said = run(&server, &[&promise("resolve")[..], &["{\"by\": \"link\"}"]].concat()).await;
    assert_eq!(said.out, "web/Signup@ada/p/confirmed  resolved  {\"by\":\"link\"}\n");
    let said =
        run(&server, &[&promise("reject")[..], &["too late", "--code", "410"]].concat()).await;
    assert_eq!(said.exit, Exit::Done);
    assert!(said.err.contains("it was settled before; the first outcome stays"), "{}", said.err);
    let said = run(&server, &[&promise("get")[..], &["--json"]].concat()).await.json();
    assert_eq!((&said["state"], &said["name"]), (&"resolved".into(), &"confirmed".into()));
    let said = run(&server, &["object", "get", OBJECT]).await;
    assert!(said.out.contains("  confirmed  promise, resolved\n"), "{}", said.out);
    let said = run(&server, &["object", "promise", "reject", OBJECT, "other", "no"]).await;
    assert_eq!(said.out, "web/Signup@ada/p/other  rejected  failed with 400: no\n");
    let said = run(&server, &["object", "clear", OBJECT, "--all"]).await;
    assert_eq!(said.out, "web/Signup@ada  no state\n");
    let said = run(&server, &["object", "promise", "get", "web/Nobody@ada", "confirmed"]).await;
    assert_eq!(said.exit, Exit::NotFound);
    assert!(said.err.contains("has no function `Nobody/…`"), "{}", said.err);
}
