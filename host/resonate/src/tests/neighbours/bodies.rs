//! Invalid bodies.

use segno_api::AdmissionLimits;
use segno_core::time::Millis;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{ListeningHost, answer, full_answer, request};
use crate::ResonateSettings;

/// One byte more than the maximum.
const TOO_MUCH: usize = 8 * 1024 * 1024 + 1;

#[tokio::test(start_paused = true)]
async fn a_body_that_announces_to_be_gigantic_is_refused_before_it_comes() {
    let host = ListeningHost::new().await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n{";
    let mut gigantic = host.say(head).await;
    host.is_well().await;
    // The client has time to stop sending and to read the answer.
    let (status, refusal) = host.patiently(500, answer(&mut gigantic)).await;
    assert_eq!((status, &refusal["kind"]), (400, &json!("unknown")));
    let sentence = refusal["data"].as_str().expect("a sentence");
    assert!(sentence.contains("8388608") || sentence.contains("8 MiB"), "{sentence}");
}

#[tokio::test(start_paused = true)]
async fn the_refusal_of_a_body_that_is_too_large_names_the_request() {
    let host = ListeningHost::new().await;
    let beginning =
        r#"{"kind":"promise.settle","head":{"corrId":"c-7","version":"2026-04-01"},"data":{"id":""#;
    // With and without a declared length.
    let announced =
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {TOO_MUCH}\r\n\r\n");
    let mut large = host.say(format!("{announced}{beginning}")).await;
    let (status, refusal) = host.patiently(500, answer(&mut large)).await;
    let named = (&refusal["kind"], &refusal["head"]["corrId"]);
    assert_eq!((status, named), (400, (&json!("promise.settle"), &json!("c-7"))));

    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut endless = host.say(head).await;
    let first = format!("{:x}\r\n{beginning}\r\n", beginning.len());
    endless.write_all(first.as_bytes()).await.expect("it is read");
    let piece = format!("{:x}\r\n{}\r\n", 65_536, "x".repeat(65_536));
    for _ in 0..=TOO_MUCH / 65_536 {
        endless.write_all(piece.as_bytes()).await.expect("it is read");
    }
    let (status, refusal) = host.patiently(500, answer(&mut endless)).await;
    let named = (&refusal["kind"], &refusal["head"]["corrId"]);
    assert_eq!((status, named), (400, (&json!("promise.settle"), &json!("c-7"))));
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_pieces_without_an_end_is_refused_when_it_is_too_long() {
    let host = ListeningHost::new().await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut endless = host.say(head).await;
    let piece = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
    for _ in 0..=TOO_MUCH / 65_536 {
        endless.write_all(piece.as_bytes()).await.expect("it is read");
    }
    host.is_well().await;
    let (status, refusal) = host.patiently(500, answer(&mut endless)).await;
    assert_eq!(status, 400, "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_has_to_be_unpacked_is_refused() {
    let host = ListeningHost::new().await;
    for encoding in ["gzip", "br", "deflate, gzip"] {
        let mut packed =
            host.say(request("\u{1f}bytes", &format!("Content-Encoding: {encoding}\r\n"))).await;
        let (status, refusal) = answer(&mut packed).await;
        let sentence = refusal["data"].as_str().expect("a sentence");
        assert!(status == 400 && sentence.contains(encoding), "{refusal}");
    }
    let mut plain = host.say(request("{}", "Content-Encoding: identity\r\n")).await;
    let (_, refusal) = answer(&mut plain).await;
    assert!(
        refusal["data"].as_str().is_some_and(|sentence| sentence.contains("`kind`")),
        "{refusal}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_sends_slowly_holds_up_nobody_and_not_for_ever() {
    let host = ListeningHost::new().await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n";
    let mut silent = host.say(format!("{head}{{")).await;
    let mut steady = host.say(format!("{head}{{")).await;
    let mut nameless = host.say("POST / HTTP/1.1\r\nHost: loc").await;
    let mut mute = host.connect().await;
    host.is_well().await;
    let (status, refusal) = host.patiently(500, answer(&mut silent)).await;
    let sentence = refusal["data"].as_str().expect("a sentence");
    assert!(status == 400 && sentence.contains("10 s"), "{refusal}");
    // Occasional single bytes are not silence, but the total time is limited as well.
    let (mut reading, mut writing) = steady.split();
    let dripping = async {
        while writing.write_all(b" ").await.is_ok() {
            host.world.host.env.runtime.sleep(Millis(5_000)).await;
        }
        std::future::pending::<()>().await;
    };
    let answered = async {
        tokio::select! {
            biased;
            answered = answer(&mut reading) => answered,
            () = dripping => unreachable!("it goes on for ever"),
        }
    };
    let (status, refusal) = host.patiently(500, answered).await;
    assert_eq!(status, 400, "{refusal}");
    // A connection that sends no request at all is closed after a minute.
    let mut rest = Vec::new();
    let _ = host.patiently(1_000, nameless.read_to_end(&mut rest)).await;
    let _ = host.patiently(1_000, mute.read_to_end(&mut rest)).await;
    assert!(!rest.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&rest));
    host.is_well().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_is_refused_and_no_more() {
    let host = ListeningHost::new().await;
    let long = format!("POST / HTTP/1.1\r\nHost: localhost\r\nx: {}\r\n\r\n", "x".repeat(1 << 20));
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"}}}}\r\n\r\n",
        long.as_bytes(),
    ] {
        let mut stream = host.connect().await;
        // The request may be refused before it is sent completely.
        let _ = stream.write_all(nonsense).await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{rest}");
    }
    host.is_well().await;
}

#[tokio::test(start_paused = true)]
async fn depth_costs_nothing() {
    let host = ListeningHost::new().await;
    let deep = "[".repeat(1_000_000);
    let head = r#""kind":"promise.get","head":{"corrId":"deep","version":"2026-04-01"}"#;
    for body in [
        format!(r#"{{{head},"data":{{"id":{deep}"#),
        deep.clone(),
        format!(r#"{{{head},"data":{{"id":{deep}{}}}}}"#, "]".repeat(1_000_000)),
    ] {
        let (status, refusal) = answer(&mut host.say(request(&body, "")).await).await;
        assert_eq!(status, 400, "{refusal}");
        let named = body.starts_with('{');
        assert_eq!(refusal["head"]["corrId"], if named { "deep" } else { "0" });
    }
}

#[tokio::test(start_paused = true)]
async fn beyond_its_memory_a_host_says_when_to_come_again() {
    let limits = AdmissionLimits { body_bytes: 100_000, ..AdmissionLimits::default() };
    let host = ListeningHost::with(ResonateSettings::new("http://here"), limits).await;
    let large = " ".repeat(60_000);
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n";
    let mut first = host.say(format!("{head}{large}")).await;
    // Once the first body's bytes are read, no memory is left for the second.
    let (head, body) = loop {
        let mut second = host.say(request(&large, "")).await;
        let (status, head, body) = full_answer(&mut second).await;
        if status == 429 {
            break (head, body);
        }
        assert_eq!(status, 400, "{body}");
        host.breathe().await;
    };
    assert!(head.contains("retry-after: 1") && body.contains("send it again"), "{head}\n{body}");
    host.is_well().await;
    first.write_all(" ".repeat(30_000).as_bytes()).await.expect("it is read");
    assert_eq!(answer(&mut first).await.0, 400, "it was read, and is no request");
}
