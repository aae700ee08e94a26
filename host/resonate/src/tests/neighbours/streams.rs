//! Workers that receive messages by streams.

use std::io::Read as _;

use rustix::process::{Resource, getrlimit, setrlimit};
use segno_api::AdmissionLimits;
use serde_json::json;
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpSocket, TcpStream},
};

use super::{ListeningHost, full_answer};
use crate::ResonateSettings;

fn listen(group: &str, worker: &str) -> String {
    format!("GET /poll/{group}/{worker} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Opens a stream and reads its greeting.
async fn stream(host: &ListeningHost, group: &str, worker: &str) -> TcpStream {
    let mut stream = host.say(listen(group, worker)).await;
    let mut seen = String::new();
    while !seen.contains(": connected") {
        let mut piece = [0; 1_024];
        let read = stream.read(&mut piece).await.expect("the connection holds");
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    stream
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_costs_little_and_others_of_its_group_get_what_it_does_not_take() {
    let settings = ResonateSettings { buffer: 8, ..ResonateSettings::new("http://here") };
    let host = ListeningHost::with(settings, AdmissionLimits::default()).await;
    // A reader that reads very little, and then nothing.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let slow = socket.connect(host.address).await.expect("a connection");
    slow.writable().await.expect("it is connected");
    slow.try_write(listen("g", "slow").as_bytes()).expect("sent");
    let mut quick = stream(&host, "g", "quick").await.into_std().expect("a socket");
    quick.set_nonblocking(false).expect("a socket that waits");
    let (told, heard) = std::sync::mpsc::channel::<usize>();
    // A reader on a separate thread, as fast as bytes arrive.
    let reading = tokio::task::spawn_blocking(move || {
        let (mut piece, mut read) = (vec![0; 1 << 20], 0);
        while let Ok(length @ 1..) = quick.read(&mut piece) {
            read += length;
            if told.send(read).is_err() {
                break;
            }
        }
    });
    let (count, size) = (400, 60_000);
    let data = "x".repeat(size);
    for n in 0..count {
        let id = format!("p{n}");
        let world = &host.world;
        world.done("promise.create", json!({ "id": id, "timeoutAt": 9_000_000_000_000_i64 })).await;
        world
            .done("promise.register_listener", json!({ "awaited": id, "address": "poll://any@g" }))
            .await;
        let value = json!({ "data": data });
        world
            .done("promise.settle", json!({ "id": id, "state": "resolved", "value": value }))
            .await;
        let (queued, streams) = (host.world.front.streams.queued(), 2);
        assert!(queued <= streams * 8 * (size + 1_000), "{queued} bytes wait");
    }
    // All messages except those in the slow reader's queue and in the socket buffers.
    let mut read = 0;
    host.until(100, "the others get the messages", || {
        while let Ok(more) = heard.try_recv() {
            read = more;
        }
        read >= count * size / 2
    })
    .await;
    let owed = async || host.world.stores().read().dump().await.expect("a dump").outbox.len();
    for _ in 0..2_000 {
        if owed().await == 0 {
            break;
        }
        host.breathe().await;
        host.time.advance(100).await;
    }
    assert_eq!(owed().await, 0, "every message was taken");
    host.is_well().await;
    drop((heard, slow, host));
    reading.await.expect("it ends with the host");
}

/// Raises the limit of open files to `wanted`. Returns false if the machine does not allow it.
fn files(wanted: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < wanted) {
        let raised = rustix::process::Rlimit { current: Some(wanted), maximum: limit.maximum };
        return setrlimit(Resource::Nofile, raised).is_ok();
    }
    true
}

#[tokio::test(start_paused = true)]
async fn thousands_of_idle_streams_are_kept_and_the_next_is_told_what_to_do() {
    let room = if files(8_000) { 3_000 } else { 200 };
    let settings = ResonateSettings { streams: room, ..ResonateSettings::new("http://here") };
    let host = ListeningHost::with(settings, AdmissionLimits::default()).await;
    let mut open = Vec::new();
    for n in 0..room {
        open.push(stream(&host, &format!("g{}", n % 7), &format!("w{n}")).await);
    }
    assert_eq!(host.world.front.streams.count(), room);
    let mut beyond = host.say(listen("g", "one-too-many")).await;
    let (status, _, body) = full_answer(&mut beyond).await;
    assert!(status == 503 && body.contains("--streams"), "{status}: {body}");
    host.is_well().await;
    let last = open.last_mut().expect("there are some");
    let target = format!("poll://uni@g{}/w{}", (room - 1) % 7, room - 1);
    host.world.done("promise.create", super::super::world::create("late", &target)).await;
    let mut heard = vec![0; 4_096];
    let read = last.read(&mut heard).await.expect("the connection holds");
    assert!(String::from_utf8_lossy(&heard[..read]).contains("\"late\""), "the last one hears");
    open.truncate(1);
    let streams = &host.world.front.streams;
    host.until(1, "streams that are closed make room", || streams.count() == 1).await;
    let _again = stream(&host, "g", "one-too-many").await;
}

#[tokio::test(start_paused = true)]
async fn streams_that_are_torn_down_without_a_word_are_noticed_and_their_tasks_go_to_others() {
    let host = ListeningHost::new().await;
    let world = &host.world;
    let mut torn = Vec::new();
    for n in 0..20 {
        torn.push(stream(&host, "g", &format!("w{n}")).await);
    }
    for n in 0..20 {
        let action = json!({ "kind": "promise.create", "data": super::super::world::create(&format!("t{n}"), "poll://any@g") });
        let data = json!({ "pid": format!("w{n}"), "ttl": 3_600_000, "action": action });
        world.done("task.create", data).await;
    }
    host.time.advance(10).await;
    for stream in torn {
        // A reset instead of FIN: the next send fails and shows that the client is gone.
        stream.set_zero_linger().expect("a socket");
    }
    host.until(1, "they are noticed", || world.front.streams.count() == 0).await;
    let other = stream(&host, "g", "other").await;
    // First the grace period, then the offers.
    let mut heard = String::new();
    host.until(100, "their tasks are offered to another", || {
        let mut piece = [0; 65_536];
        while let Ok(read @ 1..) = other.try_read(&mut piece) {
            heard.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        (0..20).all(|n| heard.contains(&format!("\"t{n}\"")))
    })
    .await;
}
