//! Tests over a real socket.

use std::net::SocketAddr;

use futures::future::join_all;
use segno_core::{id::PromiseId, time::Millis};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::ApiWorld;
use crate::{AdmissionLimits, Api, serve};

#[tokio::test]
async fn a_server_answers_until_it_is_stopped_and_lets_no_wait_hold_it_up() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let api = world.api.clone();
    let served = serve(listener, api, async {
        let _ = stopped.await;
    });
    let talk = async {
        let mut idle = TcpStream::connect(address).await.expect("a connection");
        let mut waiting = TcpStream::connect(address).await.expect("a connection");
        let request =
            "GET /v1/invocations/a/wait?timeout_ms=300000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
        waiting.write_all(request.as_bytes()).await.expect("sent");
        let mut first = TcpStream::connect(address).await.expect("a connection");
        let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        first.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        first.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // The wait is in progress: its request was sent earlier.
        stop.send(()).expect("the server runs");
        let mut answer = String::new();
        waiting.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.contains("\"pending\""), "{answer}");
        assert_eq!(idle.read(&mut [0; 8]).await.expect("closed"), 0);
    };
    let both = async { futures::join!(served, talk) };
    let ended = world.api.host.env.within(Millis(8_000), both).await;
    ended.expect("the server stops soon");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_head_without_end_is_not_read_to_its_end() {
    let world = ApiWorld::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = serve(listener, world.api.clone(), async {
        let _ = stopped.await;
    });
    let talk = async {
        for (length, status) in [(32, "200"), (200, "431")] {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let long = "x".repeat(length * 1024);
            let head = format!(
                "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: {long}\r\n\r\n"
            );
            // Unread bytes may cause an error.
            let _ = stream.write_all(head.as_bytes()).await;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.expect("an answer");
            assert_eq!(answer, *format!("HTTP/1.1 {status}").as_bytes());
        }
        stop.send(()).expect("the server runs");
    };
    futures::join!(served, talk);
}

#[tokio::test(flavor = "multi_thread")]
async fn far_more_clients_than_there_is_room_for_get_their_answers_over_one_connection_each() {
    const CLIENTS: usize = 60;
    const EACH: usize = 20;
    let limits = AdmissionLimits { requests: 2, ..AdmissionLimits::default() };
    let world = ApiWorld::shop().await.admitting(limits);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = serve(listener, world.api.clone(), async {
        let _ = stopped.await;
    });
    let client = async |number: usize| {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let mut taken = 0;
        for request in 0..EACH {
            let body = json!({ "target": "shop/ship", "id": format!("{number}-{request}") });
            let body = body.to_string();
            let (head, length) = ("POST /v1/invocations HTTP/1.1\r\nHost: localhost", body.len());
            let kind = "Content-Type: application/json";
            let start = format!("{head}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}");
            // In two pieces: the first may end anywhere.
            let (one, two) = start.split_at(1 + (number * EACH + request) % (start.len() - 1));
            stream.write_all(one.as_bytes()).await.expect("it is sent");
            tokio::task::yield_now().await;
            stream.write_all(two.as_bytes()).await.expect("it is sent");
            let answer = answer_of(&mut stream).await;
            assert!(is_whole(answer.as_bytes()), "the connection was closed: {answer:?}");
            match answer.get(..12) {
                Some("HTTP/1.1 201") => taken += 1,
                Some("HTTP/1.1 503") => {}
                _ => panic!("{answer}"),
            }
        }
        taken
    };
    let clients = async {
        let taken = join_all((0..CLIENTS).map(client)).await;
        stop.send(()).expect("the server runs");
        taken.into_iter().sum::<usize>()
    };
    let ((), taken) = futures::join!(served, clients);
    let mut there = 0;
    for number in 0..CLIENTS {
        let id = |request| PromiseId::new(format!("{number}-{request}"));
        let ids: Vec<_> = (0..EACH).map(id).collect();
        let rows = world.api.host.store.read().promises(&ids).await.expect("it reads");
        there += rows.iter().flatten().count();
    }
    assert_eq!(taken, there, "who is refused finds nothing done, who is not finds it done once");
    assert!(taken >= CLIENTS, "{taken}");
}

/// Serves until `talk` ends.
async fn served<T>(api: Api, talk: impl AsyncFnOnce(SocketAddr) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let served = serve(listener, api, async {
        let _ = stopped.await;
    });
    let talk = async {
        let said = talk(address).await;
        stop.send(()).expect("the server runs");
        said
    };
    futures::join!(served, talk).1
}

/// Reads the next answer of a connection, or the part received before the connection ended. A part
/// may end like a whole answer.
async fn answer_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !is_whole(&answer) {
        match stream.read_buf(&mut answer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns true if the bytes are a head and the complete body that it declares.
fn is_whole(answer: &[u8]) -> bool {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let Some((head, body)) = end.map(|end| answer.split_at(end)) else { return false };
    let head = String::from_utf8_lossy(head);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() - 4 >= length.unwrap_or_else(|| panic!("no length is announced: {head}"))
}

/// Sends a request and returns the first line of the answer; empty if the connection ended without
/// one.
async fn asked(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // The host may have closed the connection already.
    if stream.write_all(request.as_bytes()).await.is_err() {
        return String::new();
    }
    answer_of(stream).await.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn idle_and_slow_connections_keep_nobody_out() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let mut api = world.api.clone();
    (api.connections, api.connections_of_a_peer) = (40, 40);
    served(api, async |address| {
        let mut crowd = Vec::new();
        for number in 0..400 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let beginning: &[u8] = match number % 3 {
                0 => b"",
                1 => b"GET /v1/invocations HTTP/1.1\r\nX-Slow: ",
                _ => b"POST /v1/invocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
            };
            stream.write_all(beginning).await.expect("it is sent");
            crowd.push(stream);
            if number % 50 == 49 {
                let mut client = TcpStream::connect(address).await.expect("a connection");
                for path in ["/health", "/ready", "/v1/invocations/a"] {
                    assert_eq!(asked(&mut client, path).await, "HTTP/1.1 200 OK", "{path}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn health_is_answered_where_every_connection_waits_for_its_answer() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    let mut api = world.api.clone();
    (api.connections, api.connections_of_a_peer) = (8, 8);
    served(api, async |address| {
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let wait =
                b"GET /v1/invocations/a/wait?timeout_ms=300000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
            stream.write_all(wait).await.expect("it is sent");
            waiting.push(stream);
        }
        // Until all of them wait, another connection may replace one.
        world.api.host.env.runtime.sleep(Millis(200)).await;
        for _ in 0..100 {
            let mut client = TcpStream::connect(address).await.expect("a connection");
            for path in ["/health", "/ready"] {
                assert_eq!(asked(&mut client, path).await, "HTTP/1.1 200 OK", "{path}");
            }
            let refused = asked(&mut client, "/v1/invocations/a").await;
            assert_eq!(refused, "HTTP/1.1 503 Service Unavailable");
        }
    })
    .await;
}
