//! Blobs over HTTP, in memory and in a directory.

use std::fs;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
    response::Response,
};
use segno_blobs::{BlobPlace, BlobSettings, BlobStore};
use segno_core::{id::Digest, tags};
use segno_env::Env;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ApiWorld;
use crate::testing::TestResponse;

const LIMIT: u64 = 6 << 20;

fn world() -> ApiWorld {
    let world = ApiWorld::new();
    world.api.host.keep_blobs(BlobStore::in_memory(LIMIT, Env::system()));
    world
}

fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).expect("a request")
}

async fn put(
    world: &ApiWorld,
    id: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> TestResponse {
    let path = format!("/v1/invocations/{id}/blobs");
    world.ask(request(Method::POST, &path, headers, body)).await
}

async fn get(world: &ApiWorld, path: &str, headers: &[(&str, &str)]) -> (Response, Vec<u8>) {
    let answer = world.respond(request(Method::GET, path, headers, Body::empty())).await;
    let (parts, body) = answer.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.map(|bytes| bytes.to_vec());
    (Response::from_parts(parts, Body::empty()), bytes.unwrap_or_default())
}

fn said<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().expect("text"))
}

fn path(id: &str, content: &[u8]) -> String {
    format!("/v1/invocations/{id}/blobs/{}", Digest::of(content))
}

#[tokio::test]
async fn a_blob_is_stored_before_its_execution_and_read_by_ranges() {
    let world = world();
    let answer = put(&world, "order-1", &[("content-type", "text/plain")], "0123456789").await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let digest = Digest::of(b"0123456789");
    let reference = json!({
        "segno:blob": format!("order-1/blob/{digest}"), "bytes": 10, "content_type": "text/plain"
    });
    assert_eq!(answer.ok(), reference);
    let path = path("order-1", b"0123456789");
    let tag = format!("\"{digest}\"");
    let (whole, content) = get(&world, &path, &[]).await;
    assert_eq!((whole.status(), &content[..]), (StatusCode::OK, &b"0123456789"[..]));
    for (name, value) in [
        ("etag", tag.as_str()),
        ("content-type", "text/plain"),
        ("content-length", "10"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(said(&whole, name), value, "{name}");
    }
    for (range, status, shown, part) in [
        ("bytes=2-4", 206, "bytes 2-4/10", &b"234"[..]),
        ("bytes=-3", 206, "bytes 7-9/10", b"789"),
        ("bytes=8-", 206, "bytes 8-9/10", b"89"),
        ("bytes=10-", 416, "bytes */10", b""),
        ("bytes=4-2", 200, "", b"0123456789"),
    ] {
        let (answer, content) = get(&world, &path, &[("range", range)]).await;
        assert_eq!(answer.status().as_u16(), status, "{range}");
        assert_eq!((said(&answer, "content-range"), &content[..]), (shown, part), "{range}");
    }
    let (unchanged, _) = get(&world, &path, &[("if-none-match", &tag)]).await;
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    let other = [("range", "bytes=0-1"), ("if-range", "\"other\"")];
    assert_eq!(get(&world, &path, &other).await.0.status(), StatusCode::OK);
    let head = world.respond(request(Method::HEAD, &path, &[], Body::empty())).await;
    assert_eq!((head.status(), said(&head, "content-length")), (StatusCode::OK, "10"));

    let listed = world.get("/v1/invocations/order-1/blobs").await.ok();
    assert_eq!(listed["blobs"][0]["segno:blob"], reference["segno:blob"]);
    assert!(listed["blobs"][0]["stored_at_ms"].as_i64() > Some(1_600_000_000_000));
    let removed = world.send(Method::DELETE, &path, "").await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    world.send(Method::DELETE, &path, "").await.problem(404, "unknown-blob");
    world.get(&path).await.problem(404, "unknown-blob");
    assert_eq!(world.get("/v1/invocations/order-1/blobs").await.ok(), json!({ "blobs": [] }));
}

#[tokio::test]
async fn a_blob_belongs_to_the_root_of_the_tree() {
    let world = world();
    world.promise("root/0", &[(tags::ORIGIN, "root")]).await;
    let reference = put(&world, "root%2F0", &[], "x").await.ok();
    assert!(reference["segno:blob"].as_str().is_some_and(|id| id.starts_with("root/blob/")));
    assert_eq!(reference["content_type"], "application/octet-stream");
    for id in ["root", "root%2F0", "root%2Fg%2F2"] {
        assert_eq!(get(&world, &path(id, b"x"), &[]).await.1, b"x", "{id}");
    }
    world.get(&path("other", b"x")).await.problem(404, "unknown-blob");
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_and_leaves_nothing() {
    let world = world();
    let right = "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:";
    let wrong = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:";
    for name in ["content-digest", "digest"] {
        put(&world, "a", &[(name, wrong)], "x").await.problem(422, "wrong-digest");
        put(&world, "a", &[(name, "sha-256=:x:")], "x").await.problem(400, "invalid-header");
        let foreign = [(name, "sha-256=:ü:")];
        let answer = put(&world, "a", &foreign, "x").await;
        assert!(answer.problem(400, "invalid-header").contains("is not ASCII"), "{answer:?}");
    }
    let large = vec![7; LIMIT as usize + 1];
    put(&world, "a", &[], large.clone()).await.problem(413, "body-too-large");
    let length = large.len().to_string();
    put(&world, "a", &[("content-length", &length)], large).await.problem(413, "body-too-large");
    put(&world, "a", &[("content-type", "text")], "x").await.problem(400, "invalid-header");
    put(&world, &"X".repeat(300), &[], "x").await.problem(400, "invalid-id");
    put(&world, "a%0A", &[], "x").await.problem(400, "invalid-id");
    let broken = futures::stream::iter([Ok("some"), Err(std::io::Error::other("gone"))]);
    put(&world, "a", &[], Body::from_stream(broken)).await.problem(400, "broken-body");
    world.get("/v1/invocations/a/blobs/xyz").await.problem(400, "invalid-path");
    assert_eq!(world.get("/v1/invocations/a/blobs").await.ok(), json!({ "blobs": [] }));
    assert_eq!(
        put(&world, "a", &[("content-digest", right)], "x").await.status,
        StatusCode::CREATED
    );
    let digest = path("a", b"x");
    world.get(&format!("{digest}?presign=60")).await.problem(409, "not-signed");
    world.get(&format!("{digest}?presign=0")).await.problem(400, "invalid-field");
}

#[tokio::test]
async fn a_host_without_a_place_says_so() {
    let world = ApiWorld::new();
    let problem = put(&world, "a", &[], "x").await;
    assert!(problem.problem(409, "no-blobs").contains("--blobs"));
    world.get("/v1/invocations/a/blobs").await.problem(409, "no-blobs");
}

#[tokio::test]
async fn damage_and_a_place_that_is_away_are_told() {
    let directory = TempDir::new().expect("a directory");
    let place = directory.path().join("blobs");
    let opened = BlobPlace::Directory(place.clone()).open(BlobSettings::default(), &Env::system());
    let world = ApiWorld::new();
    world.api.host.keep_blobs(opened.expect("it opens"));
    put(&world, "a", &[], "content").await.ok();
    let large = vec![1; 5 << 20];
    put(&world, "b", &[], large.clone()).await.ok();
    let file = |owner: &str, content: &[u8]| {
        let folder = place.join(owner).join(Digest::of(content).to_string());
        let mut entries = fs::read_dir(folder).expect("a folder");
        entries.next().expect("a file").expect("it").path()
    };
    fs::write(file("a", b"content"), "CONTENT").expect("it is written");
    world.get(&path("a", b"content")).await.problem(422, "blob-damaged");
    let mut damaged = large.clone();
    damaged[0] = 2;
    fs::write(file("b", &large), &damaged).expect("it is written");
    let (answer, content) = get(&world, &path("b", &large), &[]).await;
    assert_eq!((answer.status(), content.len()), (StatusCode::OK, 0), "the body breaks off");
    fs::write(file("b", &large), &damaged[..9]).expect("it is written");
    world.get(&path("b", &large)).await.problem(422, "blob-damaged");

    let aside = directory.path().join("aside");
    fs::rename(&place, &aside).expect("it is moved");
    fs::write(&place, "").expect("a file in its place");
    let problem = put(&world, "c", &[], "x").await;
    assert!(problem.problem(503, "blobs-unavailable").contains("blobs"), "{problem:?}");
    assert_eq!(problem.retry_after.as_deref(), Some("1"));
    fs::remove_file(&place).expect("it is removed");
    fs::rename(&aside, &place).expect("it is moved back");
    assert_eq!(put(&world, "c", &[], "x").await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn blobs_need_the_token_of_the_host() {
    let world = ApiWorld::with(|_| {
        crate::AccessControl::new(([127, 0, 0, 1], 7766).into(), Some("secret"), false, vec![])
            .expect("a token")
    });
    world.api.host.keep_blobs(BlobStore::in_memory(LIMIT, Env::system()));
    put(&world, "a", &[], "x").await.problem(401, "unauthorized");
    world.get(&path("a", b"x")).await.problem(401, "unauthorized");
    let token = [(header::AUTHORIZATION.as_str(), "Bearer secret")];
    assert_eq!(put(&world, "a", &token, "x").await.status, StatusCode::CREATED);
    let answer: Value = put(&world, "a", &token, "x").await.ok();
    assert_eq!(answer["bytes"], 1);
}
