//! Responses that an activity reads in pieces.

use async_trait::async_trait;

use super::*;
use crate::{
    ActivityContext, ActivityHost, Failure, HttpRequest, HttpResponse, Level, OpenedResponse,
    Outcome,
};

/// Answers each request with the body `hello`.
struct Greeter;

#[async_trait]
impl ActivityHost for Greeter {
    async fn heartbeat(&self, _progress: Option<Payload>) -> bool {
        false
    }

    async fn http(&self, _request: HttpRequest) -> Result<HttpResponse, Failure> {
        Ok(HttpResponse { status: 200, headers: Vec::new(), body: b"hello".to_vec() })
    }

    async fn http_open(&self, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        self.http(request).await.map(OpenedResponse::from)
    }

    fn log(&self, _level: Level, _message: String) {}
}

/// Functions for the guests: `$get` opens a response, `$got` is the discriminant of the last
/// answer, `$code` its failure code.
const IMPORTS: &str = r#"
    (import "segno:workflow/http-bodies@0.2.0" "open"
      (func $open (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "segno:workflow/http-bodies@0.2.0" "read" (func $read (param i32 i32 i32)))
    (import "segno:workflow/http-bodies@0.2.0" "close" (func $close (param i32)))"#;
const ITEMS: &str = r#"
    (data (i32.const 20000) "GEThttp://127.0.0.1:9/")
    (func $get (call $open (i32.const 20000) (i32.const 3) (i32.const 20003) (i32.const 19)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 30000)))
    (func $got (result i32) (i32.load8_u (i32.const 30000)))
    (func $code (result i32) (i32.load offset=4 (i32.const 30000)))
    (func $check (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))"#;

async fn perform(body: &str) -> Result<Outcome, GuestError> {
    let guest = Guest {
        imports: IMPORTS.into(),
        items: ITEMS.into(),
        perform: body.into(),
        ..Guest::default()
    };
    let component = guest.component();
    let context = ActivityContext {
        invocation: "order-1".into(),
        idempotency_key: "order-1/0".into(),
        fence_token: 1,
        attempt: 1,
        last_progress: None,
        started_at_ms: 1_000,
        deadline_ms: None,
    };
    let (digest, greeter) = (Digest::of(&component), Arc::new(Greeter));
    host(&[&component]).perform(digest, "orders", "work", json("1"), context, greeter).await
}

const DONE: &str =
    "(i32.store8 (i32.const 20000) (i32.const 49)) (call $succeed (i32.const 20000) (i32.const 1))";

#[tokio::test]
async fn a_body_is_read_to_its_end_in_pieces_of_at_most_the_limit() {
    let read = |limit: u32, length: u32| {
        format!(
            "(call $read (i32.const 0) (i32.const {limit}) (i32.const 30000))
             (call $check (i32.eqz (call $got)))
             (call $check (i32.eq (i32.load offset=8 (i32.const 30000)) (i32.const {length})))"
        )
    };
    let closed = "(call $read (i32.const 0) (i32.const 9) (i32.const 30000))
        (call $check (call $got)) (call $check (i32.eq (call $code) (i32.const 404)))";
    let body = format!("(call $get) {} {} {} {closed} {DONE}", read(3, 3), read(9, 2), read(9, 0));
    assert_eq!(perform(&body).await.expect("it runs"), Outcome::Success(json("1")));
}

#[tokio::test]
async fn an_attempt_has_at_most_16_open_responses() {
    let open_all = "(call $get) (call $check (i32.eqz (call $got)))".repeat(16);
    let refused =
        "(call $get) (call $check (call $got)) (call $check (i32.eq (call $code) (i32.const 400)))";
    let closed = "(call $close (i32.const 3)) (call $close (i32.const 99)) (call $get) (call $check (i32.eqz (call $got)))";
    let body = format!("{open_all} {refused} {closed} {refused} {DONE}");
    assert_eq!(perform(&body).await.expect("it runs"), Outcome::Success(json("1")));
}

#[tokio::test]
async fn a_workflow_that_opens_a_response_is_told() {
    let guest = Guest {
        imports: IMPORTS.into(),
        items: ITEMS.into(),
        start: "(call $get)".into(),
        ..Guest::default()
    };
    let (_, ended) = start(&guest, "main").await;
    let message = ended.expect_err("it is refused").to_string();
    assert!(message.contains("`segno:workflow/http-bodies.open` is for activities"), "{message}");
    assert!(message.contains("ctx.http"), "{message}");
}
