//! More commands than a host executes concurrently.

use axum::http::Extensions;
use segno_api::AdmissionLimits;
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use super::{ListeningHost, full_answer, request};
use crate::ResonateSettings;

/// Request that creates a promise by the native API.
fn native(id: &str) -> String {
    let body = json!({ "id": id }).to_string();
    format!(
        "POST /v1/promises HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Request that creates a promise by the Resonate protocol.
fn enveloped(id: &str) -> String {
    let data = json!({ "id": id, "timeoutAt": 1_999_000_000_000_u64, "param": {}, "tags": {} });
    let head = json!({ "corrId": id, "version": "2026-04-01" });
    request(&json!({ "kind": "promise.create", "head": head, "data": data }).to_string(), "")
}

async fn one_at_a_time() -> ListeningHost {
    let limits = AdmissionLimits { commands: 1, ..AdmissionLimits::default() };
    ListeningHost::with(ResonateSettings::new("http://here"), limits).await
}

async fn is_refused(host: &ListeningHost, stream: &mut TcpStream, status: u16) {
    let (answered, head, body) = host.patiently(100, full_answer(stream)).await;
    assert_eq!(answered, status, "{body}");
    assert!(head.contains("retry-after: 1") && body.contains("nothing was done"), "{head}\n{body}");
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_room_is_told_when_to_come_again_and_may_stay_on_the_connection() {
    let host = one_at_a_time().await;
    let busy = host.world.front.api.room().await.expect("there is room for one");
    let mut natives = host.say(native("one")).await;
    let mut others = host.say(enveloped("two")).await;
    is_refused(&host, &mut natives, 503).await;
    is_refused(&host, &mut others, 429).await;
    drop(busy);
    host.is_well().await;
    for (mut stream, again, status) in
        [(natives, native("one"), 201), (others, enveloped("two"), 200)]
    {
        stream.write_all(again.as_bytes()).await.expect("sent");
        let (answered, _, body) = full_answer(&mut stream).await;
        assert_eq!(answered, status, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_moment_is_served_in_turn() {
    let host = one_at_a_time().await;
    let busy = host.world.front.api.room().await.expect("there is room for one");
    let mut first = host.say(native("first")).await;
    let mut second = host.say(enveloped("second")).await;
    host.breathe().await;
    drop(busy);
    assert_eq!(full_answer(&mut first).await.0, 201);
    assert_eq!(full_answer(&mut second).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_let_in_is_answered_by_name() {
    let limits = AdmissionLimits { requests: 1, ..AdmissionLimits::default() };
    let host = ListeningHost::with(ResonateSettings::new("http://here"), limits).await;
    let busy =
        host.world.front.api.let_in(&Extensions::new()).await.expect("there is room for one");
    let mut natives = host.say(native("one")).await;
    let mut others = host.say(enveloped("two")).await;
    is_refused(&host, &mut natives, 503).await;
    let (status, head, body) = host.patiently(100, full_answer(&mut others)).await;
    assert_eq!(status, 429, "{body}");
    assert!(
        head.contains("retry-after: 1") && body.contains(r#""corrId":"two""#),
        "{head}\n{body}"
    );
    drop(busy);
    host.is_well().await;
    for (mut stream, again, status) in
        [(natives, native("one"), 201), (others, enveloped("two"), 200)]
    {
        stream.write_all(again.as_bytes()).await.expect("sent");
        let (answered, _, body) = full_answer(&mut stream).await;
        assert_eq!(answered, status, "{body}");
    }
}
