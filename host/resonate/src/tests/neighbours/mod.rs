//! Bad input and bad clients over real sockets. A client that sends too much, too slowly or
//! nonsense, reads too slowly, vanishes, or accepts messages without answering, is refused or
//! ignored, uses few resources, and harms no other client.
//!
//! Time is paused in these tests and moves only when a test moves it ([`PausedTime`]); sockets keep
//! working. So the tests do not depend on the speed of the machine.

mod bodies;
mod commands;
mod pushes;
mod streams;

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{Arc, mpsc},
    time::Duration,
};

use segno_api::{AdmissionLimits, serve, testing::ApiWorld as Native};
use segno_core::{config::Config, time::Timestamp};
use segno_engine::recovery::Recovery;
use segno_env::{Clock, Env, SystemRuntime};
use segno_store::MemoryStore;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{ResonateSettings, tests::world::ResonateWorld};

/// Paused time that moves only when a test moves it. Otherwise it would move whenever the runtime
/// is idle, even while bytes are in transit between sockets.
struct PausedTime {
    /// Dropped at the end, which ends the thread.
    _until: mpsc::Sender<()>,
}

impl PausedTime {
    fn new() -> Self {
        let (until, dropped) = mpsc::channel::<()>();
        // Paused time does not advance while a blocking task runs.
        let holding = tokio::task::spawn_blocking(move || dropped.recv().is_ok());
        drop(holding);
        Self { _until: until }
    }

    async fn advance(&self, milliseconds: u64) {
        tokio::time::advance(Duration::from_millis(milliseconds)).await;
    }
}

/// The clock of a test.
struct TestClock(tokio::time::Instant);

impl TestClock {
    #[expect(clippy::disallowed_methods, reason = "the test's own time, which it moves itself")]
    fn new() -> Arc<Self> {
        Arc::new(Self(tokio::time::Instant::now()))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_795_000_000_000 + self.0.elapsed().as_millis() as i64)
    }
}

/// A host with an open listener.
struct ListeningHost {
    world: ResonateWorld,
    address: SocketAddr,
    recovery: Recovery,
    time: PausedTime,
}

impl ListeningHost {
    async fn new() -> Self {
        Self::with(ResonateSettings::new("http://here"), AdmissionLimits::default()).await
    }

    async fn with(settings: ResonateSettings, limits: AdmissionLimits) -> Self {
        let time = PausedTime::new();
        let mut api = Native::new().admitting(limits).api;
        let env = Env { clock: TestClock::new(), runtime: Arc::new(SystemRuntime) };
        api.host.store =
            MemoryStore::new(Config::default(), env.clone(), api.host.notifier.clone());
        api.host.env = env;
        let world = ResonateWorld::on(api, settings, |access| access);
        let recovery = Recovery::start(&world.host);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut api = world.front.api.clone();
        api.connections = 20_000;
        api.beside = world.front.router();
        let stopped = api.stopping.clone();
        let serving = serve(listener, api, async move { stopped.cancelled().await });
        world.host.env.runtime.spawn("server", Box::pin(serving));
        Self { world, address, recovery, time }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// Opens a connection and sends `text` on it.
    async fn say(&self, text: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_ref()).await.expect("sent");
        stream
    }

    /// Checks that a well-behaved client is answered immediately, regardless of other clients.
    async fn is_well(&self) {
        let body = json!({ "kind": "promise.get", "head": { "corrId": "well", "version": "2026-04-01" }, "data": { "id": "none" } });
        let mut stream = self.say(request(&body.to_string(), "Connection: close\r\n")).await;
        let (status, answer) = answer(&mut stream).await;
        assert_eq!((status, &answer["head"]["corrId"]), (404, &json!("well")), "{answer}");
    }

    /// Moves time forward in steps until a condition holds, with a limit.
    async fn until(&self, step: u64, what: &str, mut holds: impl FnMut() -> bool) {
        for _ in 0..2_000 {
            if holds() {
                return;
            }
            self.breathe().await;
            self.time.advance(step).await;
        }
        panic!("this never came to be: {what}");
    }

    /// Awaits a future while time moves forward in steps.
    async fn patiently<T>(&self, step: u64, something: impl Future<Output = T>) -> T {
        let mut something = pin!(something);
        loop {
            tokio::select! {
                biased;
                outcome = &mut something => return outcome,
                () = self.breathe() => self.time.advance(step).await,
            }
        }
    }

    /// Lets sockets work for 2 ms of real time; the test's time stays paused.
    async fn breathe(&self) {
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(2)))
            .await
            .expect("a pause");
    }
}

impl Drop for ListeningHost {
    fn drop(&mut self) {
        self.world.front.api.stopping.cancel();
        self.recovery.stop();
    }
}

/// Builds an HTTP request with an operation.
fn request(body: &str, headers: &str) -> String {
    let length = body.len();
    format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

/// Reads an answer: its status and envelope.
async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> (u16, Json) {
    let (status, _, body) = full_answer(stream).await;
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body:?} is no JSON")))
}

/// Reads an answer of known length: status, head and body.
async fn full_answer(stream: &mut (impl AsyncRead + Unpin)) -> (u16, String, String) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
            if body.len() >= length {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return (status.expect("a status"), head, body.to_owned());
            }
        }
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).await.expect("the connection holds");
        assert!(read > 0, "it was closed in the middle of an answer: {text}");
        bytes.extend_from_slice(&piece[..read]);
    }
}
