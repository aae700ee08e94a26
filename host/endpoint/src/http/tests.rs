//! The routes, with a component that no test runs.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use segno_core::id::Digest;
use segno_env::Env;
use segno_guest::{FunctionReport, FunctionReportKind, ModuleReport, NoGuests};
use segno_restate::manifest::{Manifest, ManifestVersion};
use tower::ServiceExt as _;

use super::*;
use crate::ServiceOffer;

const KEY: &str = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
const MANIFEST: &str = "application/vnd.restate.endpointmanifest.v2+json";
const V6: &str = "application/vnd.restate.invocation.v6";

fn endpoint() -> Arc<Endpoint> {
    let function = FunctionReport {
        name: "order".to_owned(),
        kind: FunctionReportKind::Workflow,
        summary: Some("Ships.".to_owned()),
        input_schema: None,
        output_schema: None,
        runs_once: false,
        access: None,
        signals: false,
        messages: Vec::new(),
        handlers: Vec::new(),
        timeout_ms: None,
        retry: None,
        limit: None,
        commits_each: false,
        expose: Vec::new(),
    };
    let digest = Digest::of(b"a component");
    let report = ModuleReport {
        digest: digest.to_string(),
        size: 1,
        imports: Vec::new(),
        exports: Vec::new(),
        functions: vec![function],
        no_snapshots: None,
    };
    let offer = ServiceOffer::new("shop", "shop", &report).expect("an offer");
    let (guests, outbound) = (Arc::new(NoGuests), Arc::new(NoGuests));
    Arc::new(Endpoint::new(guests, outbound, Env::system(), offer, digest))
}

fn open() -> Router {
    let address = "127.0.0.1:9080".parse().expect("an address");
    let access = AccessControl::new(address, None, false, vec!["worker".to_owned()]);
    endpoint_router(
        endpoint(),
        PermittedCallers::Anybody(access.expect("only this machine reaches it")),
    )
}

async fn asked(
    router: Router,
    method: Method,
    path: &str,
    headers: &[(header::HeaderName, &str)],
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    if headers.iter().all(|(name, _)| *name != header::HOST) {
        request = request.header(header::HOST, "localhost:9080");
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = router.oneshot(request).await.expect("it answers");
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
    assert!(parts.headers.contains_key("x-restate-server"), "{path}");
    (parts.status, parts.headers, body.to_vec())
}

#[tokio::test]
async fn the_manifest_is_written_in_the_newest_version_that_is_read() {
    for (accept, expected) in [
        (ManifestVersion::accept_all(), Some(ManifestVersion::V4)),
        (ManifestVersion::V3.media_type(), Some(ManifestVersion::V3)),
        (ManifestVersion::V2.media_type(), Some(ManifestVersion::V2)),
        (ManifestVersion::V1.media_type(), None),
        ("*/*".to_owned(), None),
    ] {
        let accepts = [(header::ACCEPT, &*accept)];
        let (status, headers, body) = asked(open(), Method::GET, "/discover", &accepts).await;
        let Some(version) = expected else {
            assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{accept}");
            continue;
        };
        assert_eq!(status, StatusCode::OK, "{accept}");
        assert_eq!(headers[header::CONTENT_TYPE], version.media_type());
        let manifest = Manifest::read(&body, version).expect("a manifest");
        assert_eq!((manifest.min_protocol_version, manifest.max_protocol_version), (5, 7));
        assert_eq!(manifest.services[0].handlers[0].name, "order");
    }
}

#[tokio::test]
async fn what_cannot_be_invoked_is_refused_by_status() {
    let v = |version| format!("application/vnd.restate.invocation.v{version}");
    for (path, kind, expected) in [
        ("/invoke/shop/order", v("4"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("/invoke/shop/order", v("8"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("/invoke/shop/order", "application/json".to_owned(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("/invoke/shop/ship", v("6"), StatusCode::NOT_FOUND),
        ("/invoke/stop/order", v("6"), StatusCode::NOT_FOUND),
        ("/elsewhere", v("6"), StatusCode::NOT_FOUND),
        ("/invoke/shop/order", v("5"), StatusCode::OK),
        ("/invoke/shop/order", v("7"), StatusCode::OK),
        ("/some/where/invoke/shop/order", v("7"), StatusCode::OK),
        ("/invoke/invoke/shop/order", v("7"), StatusCode::OK),
        ("/some/invoke/shop/ship", v("6"), StatusCode::NOT_FOUND),
        ("/some/invoke/shop", v("6"), StatusCode::NOT_FOUND),
    ] {
        let headers = [(header::CONTENT_TYPE, &*kind)];
        let (status, headers, _) = asked(open(), Method::POST, path, &headers).await;
        assert_eq!(status, expected, "{path} {kind}");
        if status == StatusCode::OK {
            assert_eq!(headers[header::CONTENT_TYPE], kind, "the same comes back");
        }
    }
    let (status, ..) = asked(open(), Method::GET, "/health", &[]).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn an_attempt_without_a_journal_ends_with_an_error_in_its_frames() {
    let kind = [(header::CONTENT_TYPE, V6)];
    let (status, _, body) = asked(open(), Method::POST, "/invoke/shop/order", &kind).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(&body[..2], [0, 2], "an error");
    assert!(String::from_utf8_lossy(&body).contains("ended without a start"));
}

#[tokio::test]
async fn whoever_does_not_sign_is_refused_where_a_key_is_named() {
    let router = || {
        endpoint_router(
            endpoint(),
            PermittedCallers::Signed(IdentityKeys::new([KEY]).expect("a key")),
        )
    };
    for (method, path) in [
        (Method::GET, "/discover"),
        (Method::GET, "/some/discover"),
        (Method::POST, "/invoke/shop/order"),
        (Method::POST, "/some/invoke/shop/order"),
    ] {
        let (status, ..) = asked(router(), method, path, &[(header::CONTENT_TYPE, V6)]).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let (status, ..) = asked(router(), Method::GET, "/health", &[]).await;
    assert_eq!(status, StatusCode::OK, "it says nothing");
}

#[tokio::test]
async fn a_page_of_another_site_is_refused_where_no_key_is_named() {
    use header::{HOST, ORIGIN};
    for (headers, status) in [
        (&[(HOST, "localhost:9080")][..], StatusCode::OK),
        (&[(HOST, "127.0.0.1:9080"), (ORIGIN, "http://127.0.0.1:9080")], StatusCode::OK),
        (&[(HOST, "worker:9080")], StatusCode::OK),
        (&[(HOST, "evil.example")], StatusCode::FORBIDDEN),
        (&[(HOST, "localhost:9080"), (ORIGIN, "http://evil.example")], StatusCode::FORBIDDEN),
        (&[(HOST, "localhost:9080"), (ORIGIN, "null")], StatusCode::FORBIDDEN),
    ] {
        let mut headers = headers.to_vec();
        headers.push((header::ACCEPT, MANIFEST));
        let answered = asked(open(), Method::GET, "/discover", &headers).await;
        assert_eq!(answered.0, status, "{headers:?}");
        headers.push((header::CONTENT_TYPE, V6));
        let answered = asked(open(), Method::POST, "/invoke/shop/order", &headers).await;
        assert_eq!(answered.0, status, "{headers:?}");
    }
    // HTTP/2: the name is only in the URI.
    for (host, status) in
        [("localhost:9080", StatusCode::OK), ("evil.example", StatusCode::FORBIDDEN)]
    {
        let request = Request::get(format!("http://{host}/discover"));
        let request = request.header(header::ACCEPT, MANIFEST).body(Body::empty());
        let answered = open().oneshot(request.expect("a request")).await.expect("it answers");
        assert_eq!(answered.status(), status, "{host}");
    }
}
