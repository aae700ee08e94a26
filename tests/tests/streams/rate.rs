//! The limit on the rate of streams.

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use segno_core::time::Millis;
use serde_json::{Value, json};
use tests::test_host::TestHost;

use super::{host, messages};

/// Appends a message of `bytes` bytes, and returns the status and the answer.
async fn append(host: &TestHost, bytes: usize) -> (u16, Option<u64>, Value) {
    let address = format!("{}/v1/stream/chat", host.client().server());
    let client = reqwest::Client::new();
    let body = json!("x".repeat(bytes - 3)).to_string();
    let sent = client.post(address).header(CONTENT_TYPE, "application/json").body(body).send();
    let answer = sent.await.expect("it answers");
    let wait = answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap_or_default();
    (status, wait, serde_json::from_str(&text).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_too_fast_is_told_when_to_append_again() {
    let host = host(&["--limit", "stream_bytes_per_second=1000"]).await;
    host.client().create_stream("chat").await.expect("it is made");
    assert_eq!(append(&host, 5_000).await.0, 204, "one append comes at once");
    let (status, wait, problem) = append(&host, 900).await;
    assert_eq!((status, &problem["code"]), (429, &json!("stream-rate")), "{problem}");
    assert!(matches!(wait, Some(1..=5)), "{wait:?}");
    let said = problem["detail"].as_str().expect("a text");
    assert!(said.contains("the stream `chat` takes at most 1000 bytes a second"), "{said}");
    host.env.runtime.sleep(Millis::seconds(wait.expect("it says").cast_signed())).await;
    assert_eq!(append(&host, 900).await.0, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_waits_and_loses_nothing() {
    let host = host(&["--limit", "stream_bytes_per_second=1000"]).await;
    let begun = host.env.clock.now();
    let input = json!({ "items": 700, "pause_every": 300 });
    host.start_as("relayed", "teller/relay", input).await.expect("it starts");
    host.ended("relayed").await;
    // 2,690 bytes, of which those of one second come at once.
    assert!(host.env.clock.now().since(begun) > Millis(1_500));
    let data = host.client().stream("relayed", "tokens", "-1", false).await.expect("data");
    let items = messages(&data.body);
    assert!((0..700).eq(items.iter().filter_map(Value::as_u64)), "{} items", items.len());
}
