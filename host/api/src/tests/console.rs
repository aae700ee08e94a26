use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use tower::ServiceExt as _;

use super::ApiWorld;
use crate::{AccessControl, router};

/// Sends a GET with these headers, and returns status, headers and body.
async fn get(
    world: &ApiWorld,
    path: &str,
    headers: &[(header::HeaderName, &str)],
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::get(path).header(header::HOST, "localhost:7766");
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let answer = router(world.api.clone()).oneshot(request.body(Body::empty()).expect("a request"));
    let answer = answer.await.expect("the router answers");
    let (status, headers) = (answer.status(), answer.headers().clone());
    (status, headers, to_bytes(answer.into_body(), usize::MAX).await.expect("a body").to_vec())
}

fn said<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns the first asset path in a page.
fn file(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let named = page.split('"').find(|word| word.starts_with("/console/assets/"));
    named.expect("the page loads something").to_owned()
}

#[tokio::test]
async fn every_address_of_the_console_is_the_page_under_a_strict_policy() {
    // The console contains no data of the host, so it needs no token.
    let world = ApiWorld::with(|_| {
        AccessControl::new(([127, 0, 0, 1], 7766).into(), Some("s3cret"), false, vec![])
            .expect("a token")
    });
    for path in ["/console/", "/console/executions/a%2Fb", "/console/modules", "/console/assets"] {
        let (status, headers, page) = get(&world, path, &[]).await;
        assert_eq!(status, 200, "{path}");
        assert!(page.starts_with(b"<!doctype html>"), "{path}");
        let policy = said(&headers, &header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(said(&headers, &header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(said(&headers, &header::REFERRER_POLICY), "no-referrer");
        assert_eq!(said(&headers, &header::CACHE_CONTROL), "no-cache");
    }
    assert_eq!(get(&world, "/console", &[]).await.0, 308);
    let foreign = Request::get("/console/").header(header::HOST, "evil.example");
    world.ask(foreign.body(Body::empty()).expect("a request")).await.problem(403, "foreign-host");
}

#[tokio::test]
async fn the_documentation_is_served_without_a_token_and_without_scripts() {
    let world = ApiWorld::with(|_| {
        AccessControl::new(([127, 0, 0, 1], 7766).into(), Some("s3cret"), false, vec![])
            .expect("a token")
    });
    for path in ["/docs/", "/docs/guide.html", "/docs/search?q=lease", "/docs/assets/docs.css"] {
        let (status, headers, page) = get(&world, path, &[]).await;
        assert_eq!(status, 200, "{path}");
        assert!(!page.is_empty(), "{path}");
        let policy = said(&headers, &header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("script"), "{policy}");
        assert_eq!(said(&headers, &header::CACHE_CONTROL), "no-cache");
    }
    for (path, begin) in [
        ("/llms.txt", "# Segno\n"),
        ("/llms-full.txt", "# Segno\n"),
        ("/docs/reference/cli.md", "# "),
    ] {
        let (status, headers, text) = get(&world, path, &[]).await;
        assert_eq!((status, text.starts_with(begin.as_bytes())), (StatusCode::OK, true), "{path}");
        assert_eq!(said(&headers, &header::CONTENT_TYPE), "text/plain; charset=utf-8", "{path}");
    }
    assert_eq!(get(&world, "/docs", &[]).await.0, 308);
    world.get("/docs/nothing.html").await.problem(404, "unknown-route");
    // Browsers get a page with links to the other pages.
    let person = [(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")];
    let (status, _, page) = get(&world, "/docs/no/th%3Ci%3Eng.html", &person).await;
    let page = String::from_utf8_lossy(&page);
    assert_eq!(status, 404);
    assert!(page.contains("No such page") && page.contains("no/th&lt;i"), "{page}");
    assert!(page.contains("href=\"../guide.html\"") && !page.contains("th<i"), "{page}");
    let hostile = "/docs/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let (_, _, page) = get(&world, hostile, &[]).await;
    assert!(!String::from_utf8_lossy(&page).contains("<script"), "what was typed is text");
    let foreign = Request::get("/docs/").header(header::HOST, "evil.example");
    world.ask(foreign.body(Body::empty()).expect("a request")).await.problem(403, "foreign-host");
}

#[tokio::test]
async fn files_are_kept_for_ever_and_sent_as_small_as_the_browser_takes_them() {
    let world = ApiWorld::new();
    let (_, headers, page) = get(&world, "/console/", &[]).await;
    let kept = [(header::IF_NONE_MATCH, said(&headers, &header::ETAG))];
    assert_eq!(get(&world, "/console/", &kept).await.0, 304);
    let path = file(&page);
    let (status, plain, whole) = get(&world, &path, &[]).await;
    assert_eq!((status, said(&plain, &header::CONTENT_ENCODING)), (StatusCode::OK, ""));
    assert!(said(&plain, &header::CACHE_CONTROL).contains("immutable"));
    assert_eq!(said(&plain, &header::VARY), "accept-encoding");
    let takes = [(header::ACCEPT_ENCODING, "br;q=1.0, gzip;q=0.8")];
    let (_, headers, small) = get(&world, &path, &takes).await;
    assert_eq!(said(&headers, &header::CONTENT_ENCODING), "gzip");
    assert!(small.starts_with(&[0x1f, 0x8b]) && small.len() < whole.len());
    // Files of different versions are not mixed.
    let digest = path.split('/').nth(3).expect("a digest");
    let other = path.replace(digest, "0123456789abcdef");
    world.get(&other).await.problem(404, "unknown-route");
    world.get(&format!("/console/assets/{digest}/index.html")).await.problem(404, "unknown-route");
    world.get(&format!("/console/assets/{digest}/../lib.rs")).await.problem(404, "unknown-route");
}
