use axum::{http::Extensions, routing::any};
use futures::{pin_mut, poll};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::OwnedSemaphorePermit,
};

use super::*;
use crate::{AdmissionLimits, router, tests::ApiWorld};

/// A bound that the tests only reach on failure.
const TIMEOUT: Millis = Millis(10_000);

/// A host that processes one request at a time, and both ends of a connection.
struct ConnectionFixture {
    world: ApiWorld,
    routes: Router,
    client: TcpStream,
}

impl ConnectionFixture {
    async fn new() -> (Self, IdleConnection) {
        let limits = AdmissionLimits { requests: 1, ..AdmissionLimits::default() };
        let world = ApiWorld::shop().await.admitting(limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        let mark = ConnectionMark::new(world.api.host.env.clock.clone());
        let between = IdleConnection { stream, ahead: Bytes::new(), mark };
        (Self { routes: router(world.api.clone()), world, client }, between)
    }

    /// Takes the only permit.
    async fn busy(&self) -> OwnedSemaphorePermit {
        self.world.api.let_in(&Extensions::new()).await.expect("there is room for one")
    }

    async fn send(&mut self, text: &str) {
        self.client.write_all(text.as_bytes()).await.expect("it is sent");
    }

    /// Waits for a request that arrives.
    async fn pass(&self, between: &IdleConnection) -> AdmissionTicket {
        between.pass(&self.world.api).await.expect("it reads").expect("it goes on")
    }

    /// Waits for a queued request, which is admitted after `happens` is done.
    async fn pass_after(
        &self,
        between: &IdleConnection,
        happens: impl FnOnce(),
    ) -> AdmissionTicket {
        let waiting = self.pass(between);
        pin_mut!(waiting);
        let env = &self.world.api.host.env;
        assert!(env.within(Millis(100), &mut waiting).await.is_none(), "it waits");
        happens();
        waiting.await
    }

    /// Serves until the connection is between two requests; `None` if it has ended.
    async fn serve_http(
        &self,
        between: IdleConnection,
        pass: AdmissionTicket,
    ) -> Option<IdleConnection> {
        let talking = serve_http(between, self.routes.clone(), &self.world.api, pass);
        let env = &self.world.api.host.env;
        env.within(TIMEOUT, talking).await.expect("it ends in time")
    }

    /// Serves while permits are free, until there is an answer.
    async fn answer(&mut self, between: IdleConnection, pass: AdmissionTicket) -> String {
        let (routes, api) = (self.routes.clone(), self.world.api.clone());
        tokio::select! {
            _ = serve_http(between, routes, &api, pass) => panic!("there is room"),
            answer = self.answers(1) => answer,
        }
    }

    /// Reads until at least `count` answers have arrived, and returns the text.
    async fn answers(&mut self, count: usize) -> String {
        let mut came = Vec::new();
        let reading = async {
            while heads(&came) < count || !came.ends_with(b"}") {
                let mut piece = [0; 4_096];
                let read = self.client.read(&mut piece).await.expect("it reads");
                assert!(read > 0, "{}", String::from_utf8_lossy(&came));
                came.extend_from_slice(&piece[..read]);
            }
        };
        let env = &self.world.api.host.env;
        env.within(TIMEOUT, reading).await.expect("answers");
        String::from_utf8(came).expect("text")
    }
}

fn heads(came: &[u8]) -> usize {
    String::from_utf8_lossy(came).matches("HTTP/1.").count()
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn start(id: &str) -> String {
    let body = json!({ "target": "shop/ship", "id": id }).to_string();
    let length = body.len();
    format!(
        "POST /v1/invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_connection_is_given_back_between_two_requests_when_others_wait() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let busy = scene.busy().await;
    let (begun, rest) = HEALTH.split_at(9);
    scene.send(&format!("{HEALTH}{HEALTH}{begun}")).await;
    let between =
        scene.serve_http(between, AdmissionTicket::default()).await.expect("it is given back");
    assert_eq!(heads(scene.answers(2).await.as_bytes()), 2, "both were answered before");
    assert_eq!(between.ahead, begun.as_bytes());
    assert!(scene.pass(&between).await.take().is_none(), "a look needs no place");

    scene.send(rest).await;
    let between =
        scene.serve_http(between, AdmissionTicket::default()).await.expect("it is given back");
    assert!(scene.answers(1).await.starts_with("HTTP/1.1 200"));
    assert!(between.ahead.is_empty());
    drop(busy);
}

#[tokio::test]
async fn no_request_is_lost_of_many_that_are_sent_at_once() {
    const MANY: usize = 400;
    let (mut scene, between) = ConnectionFixture::new().await;
    let api = scene.world.api.clone();
    let _busy = scene.busy().await;
    let routes = scene.routes.clone();
    let mut between = between;
    between.ahead = HEALTH.repeat(MANY).into();
    let talking = async {
        loop {
            let talked = serve_http(between, routes.clone(), &api, AdmissionTicket::default());
            between = talked.await.expect("it goes on");
        }
    };
    tokio::select! {
        () = talking => {}
        came = scene.answers(MANY) => assert_eq!(heads(came.as_bytes()), MANY),
    }
}

#[tokio::test]
async fn a_connection_is_kept_while_there_is_room() {
    let (mut scene, between) = ConnectionFixture::new().await;
    scene.send(HEALTH).await;
    let api = scene.world.api.clone();
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    pin_mut!(talking);
    for _ in 0..3 {
        tokio::select! {
            _ = &mut talking => panic!("it is given back"),
            answer = scene.answers(1) => assert!(answer.starts_with("HTTP/1.1 200")),
        }
        assert!(poll!(&mut talking).is_pending());
        scene.send(HEALTH).await;
    }
}

#[tokio::test]
async fn who_waits_in_line_is_read_when_it_is_let_in() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let busy = scene.busy().await;
    scene.send(&start("one")).await;
    let pass = scene.pass_after(&between, || drop(busy)).await;
    assert!(scene.world.api.admission.is_full(), "it has the place");
    let answer = scene.answer(between, pass).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(!scene.world.api.admission.is_full());
}

#[tokio::test]
async fn who_waits_in_vain_is_answered_and_may_come_again() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let busy = scene.busy().await;
    scene.send(&start("one")).await;
    let pass = scene.pass(&between).await;
    let between = scene.serve_http(between, pass).await.expect("it is given back");
    let refused = scene.answers(1).await.to_lowercase();
    assert!(refused.starts_with("http/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    drop(busy);
    scene.send(&start("one")).await;
    let pass = scene.pass(&between).await;
    let answer = scene.answer(between, pass).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[tokio::test]
async fn who_waits_in_line_when_the_host_stops_is_answered_and_who_does_not_has_ended() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let busy = scene.busy().await;
    scene.send(&start("one")).await;
    let stops = || {
        scene.world.api.stopping.cancel();
        drop(busy);
    };
    let pass = scene.pass_after(&between, stops).await;
    assert!(scene.serve_http(between, pass).await.is_none(), "the host stops");
    assert!(scene.answers(1).await.starts_with("HTTP/1.1 201"));

    let (next, between) = ConnectionFixture::new().await;
    next.world.api.stopping.cancel();
    assert!(between.pass(&next.world.api).await.expect("it reads").is_none());
}

#[tokio::test]
async fn who_hangs_up_between_two_requests_has_ended() {
    let (scene, between) = ConnectionFixture::new().await;
    drop(scene.client);
    assert!(between.pass(&scene.world.api).await.expect("it reads").is_none());
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_for_a_minute_has_ended() {
    let (scene, between) = ConnectionFixture::new().await;
    assert!(between.pass(&scene.world.api).await.expect("it reads").is_none());
}

#[tokio::test]
async fn who_has_a_place_and_is_slow_to_speak_loses_it() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let api = scene.world.api.clone();
    scene.send("PO").await;
    let pass = scene.pass(&between).await;
    assert!(api.admission.is_full());
    let talking = serve_http(between, scene.routes.clone(), &api, pass);
    let none = Extensions::new();
    let next = api.let_in(&none);
    tokio::select! {
        _ = talking => panic!("nothing was asked yet"),
        place = next => drop(place.expect("there is room")),
    }
}

#[tokio::test]
async fn a_request_that_is_being_answered_is_not_given_back() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let api = scene.world.api.clone();
    let go_on = Arc::new(tokio::sync::Notify::new());
    let slow = {
        let go_on = go_on.clone();
        async move |_read: String| {
            go_on.notified().await;
            "{}"
        }
    };
    scene.routes = Router::new().route("/quick", any(async || "{}")).route("/slow", any(slow));
    scene.send("GET /quick HTTP/1.1\r\n\r\n").await;
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    pin_mut!(talking);
    tokio::select! {
        _ = &mut talking => panic!("there is room"),
        _ = scene.answers(1) => {}
    }
    for request in
        ["GET /slow HTTP/1.1\r\n\r\n", "POST /slow HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"]
    {
        scene.send(request).await;
        let env = &api.host.env;
        assert!(env.within(Millis(100), &mut talking).await.is_none(), "there is room");
        let busy = scene.busy().await;
        assert!(env.within(Millis(100), &mut talking).await.is_none(), "it is worked on");
        drop(busy);
        go_on.notify_one();
        tokio::select! {
            _ = &mut talking => panic!("there is room"),
            answer = scene.answers(1) => assert!(answer.starts_with("HTTP/1.1 200"), "{answer}"),
        }
    }
}

/// The unread rest of a body must not be parsed as a request, even if it looks like one.
#[tokio::test]
async fn a_body_that_was_not_read_is_not_taken_for_a_request() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let _busy = scene.busy().await;
    let length = 300_000;
    let head =
        format!("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    scene.send(&head).await;
    scene.send(HEALTH).await;
    let api = scene.world.api.clone();
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    let client = async {
        let mut came = scene.answers(1).await.into_bytes();
        // The peer may refuse it.
        let _ = scene.client.write_all(HEALTH.as_bytes()).await;
        let _ = scene.client.shutdown().await;
        let _ = scene.client.read_to_end(&mut came).await;
        String::from_utf8_lossy(&came).into_owned()
    };
    // If the connection were handed back, it would be closed here as well.
    let talking = async { talking.await.is_some() };
    let both = async { futures::join!(talking, client) };
    let (given_back, came) = api.host.env.within(TIMEOUT, both).await.expect("an end");
    assert!(!given_back);
    assert!(came.starts_with("HTTP/1.1 404") && heads(came.as_bytes()) == 1, "{came}");
}

#[tokio::test]
async fn who_wants_one_answer_only_sees_the_end_of_it() {
    for request in [
        "GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ] {
        let (mut scene, between) = ConnectionFixture::new().await;
        let api = scene.world.api.clone();
        let _busy = scene.busy().await;
        scene.send(request).await;
        assert!(
            scene.serve_http(between, AdmissionTicket::default()).await.is_none(),
            "it has ended"
        );
        let mut came = String::new();
        let reading = scene.client.read_to_string(&mut came);
        api.host.env.within(TIMEOUT, reading).await.expect("an end").expect("it reads");
        assert!(came.contains("200 OK"), "{came}");
    }
}

#[tokio::test]
async fn a_long_answer_is_sent_before_the_connection_is_given_back() {
    const LENGTH: usize = 8 << 20;
    let (mut scene, between) = ConnectionFixture::new().await;
    let api = scene.world.api.clone();
    let _busy = scene.busy().await;
    scene.routes = Router::new().route("/long", any(async || vec![b'x'; LENGTH]));
    scene.send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    let reading = async {
        let mut came = 0;
        let mut piece = vec![0; 64 << 10];
        while came < LENGTH {
            came += scene.client.read(&mut piece).await.expect("it reads");
        }
    };
    let both = async { futures::join!(talking, reading) };
    let (given_back, ()) = api.host.env.within(TIMEOUT, both).await.expect("all of it");
    assert!(given_back.is_some());
}

#[tokio::test]
async fn a_client_that_closes_its_half_after_a_request_still_gets_the_answer() {
    // Answered immediately, or only later, when the end of the client's half was read before.
    let waits = "GET /v1/invocations/a/wait?timeout_ms=200 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for request in [HEALTH.to_owned(), start("b"), waits.to_owned()] {
        let (mut scene, between) = ConnectionFixture::new().await;
        scene.world.start("a").await.ok();
        scene.send(&request).await;
        scene.client.shutdown().await.expect("its half is closed");
        let pass = scene.pass(&between).await;
        assert!(scene.serve_http(between, pass).await.is_none(), "the connection ends");
        let answer = scene.answers(1).await;
        assert!(answer.starts_with("HTTP/1.1 20"), "{request}: {answer}");
    }
}

/// Answers forever, unless its client leaves.
async fn stream() -> impl axum::response::IntoResponse {
    let frames = futures::stream::repeat(b"a message\n");
    let frames = futures::StreamExt::map(frames, |frame| Ok::<_, Infallible>(&frame[..]));
    (axum::Extension(EndsWithClient), Body::from_stream(frames))
}

#[tokio::test]
async fn a_stream_ends_when_its_client_closes_its_half_even_one_that_does_not_read() {
    let silent = async || {
        let frames = futures::stream::pending::<Result<Bytes, Infallible>>();
        (axum::Extension(EndsWithClient), Body::from_stream(frames))
    };
    let routes = Router::new().route("/silent", any(silent)).route("/full", any(stream));
    for path in ["/silent", "/full"] {
        let (mut scene, between) = ConnectionFixture::new().await;
        scene.routes = routes.clone();
        scene.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        let api = scene.world.api.clone();
        let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
        pin_mut!(talking);
        let env = &api.host.env;
        assert!(env.within(Millis(300), &mut talking).await.is_none(), "{path}");
        scene.client.shutdown().await.expect("its half is closed");
        let ended = env.within(TIMEOUT, talking).await;
        assert!(ended.expect("the stream ends").is_none(), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_has_said_all_and_waits_makes_room_for_others() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let (api, mark) = (scene.world.api.clone(), between.mark.clone());
    scene.routes = Router::new().route("/slow", any(std::future::pending::<String>));
    scene.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    pin_mut!(talking);
    let env = &api.host.env;
    assert!(env.within(Millis(100), &mut talking).await.is_none(), "it is answered");
    assert_eq!(mark.makes_room(), None);
    scene.client.shutdown().await.expect("its half is closed");
    assert!(env.within(Millis(100), &mut talking).await.is_none(), "it still is");
    assert!(mark.makes_room().is_some());
}

#[tokio::test]
async fn a_connection_that_breaks_ends_its_request() {
    let (mut scene, between) = ConnectionFixture::new().await;
    let api = scene.world.api.clone();
    scene.routes = Router::new().route("/slow", any(std::future::pending::<String>));
    scene.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let talking = serve_http(between, scene.routes.clone(), &api, AdmissionTicket::default());
    pin_mut!(talking);
    let env = &api.host.env;
    assert!(env.within(Millis(100), &mut talking).await.is_none(), "it is answered");
    scene.client.set_zero_linger().expect("it resets the connection");
    drop(scene.client);
    let ended = env.within(TIMEOUT, talking).await;
    assert!(ended.expect("the connection is broken").is_none());
}
