//! Bodies of HTTP responses in pieces, as they arrive.

use async_trait::async_trait;
use reqwest::Url;

use super::{
    Failure, HttpResponse,
    http::{failure, reason},
    policy::Secrets,
};

/// The body of an HTTP response, in pieces. Dropping it ends the response.
#[async_trait]
pub trait ResponseBody: Send {
    /// Waits for the next bytes, which are never empty. `None` at the end.
    ///
    /// # Errors
    /// A failure for the guest, after which the body has no more pieces.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure>;
}

/// An HTTP response whose headers have arrived.
pub struct OpenedResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Box<dyn ResponseBody>,
}

impl From<HttpResponse> for OpenedResponse {
    /// A response whose body has one piece.
    fn from(response: HttpResponse) -> Self {
        let HttpResponse { status, headers, body } = response;
        Self { status, headers, body: Box::new(CompleteBody(Some(body))) }
    }
}

/// A body that has arrived as a whole.
struct CompleteBody(Option<Vec<u8>>);

#[async_trait]
impl ResponseBody for CompleteBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.0.take().filter(|body| !body.is_empty()))
    }
}

/// A body as the HTTP client receives it.
pub(super) struct ReceivedBody {
    url: Url,
    response: reqwest::Response,
    /// Number of bytes so far.
    received: usize,
    /// Maximum number of bytes.
    limit: usize,
}

impl ReceivedBody {
    pub(super) fn new(url: Url, response: reqwest::Response, limit: usize) -> Self {
        Self { url, response, received: 0, limit }
    }

    /// The next bytes. `timed_out` is the code of the failure if nothing comes in time.
    pub(super) async fn piece(&mut self, timed_out: u32) -> Result<Option<Vec<u8>>, Failure> {
        let url = &self.url;
        loop {
            let chunk = self.response.chunk().await.map_err(|error| match error.is_timeout() {
                true => failure(timed_out, format!("the answer of `{url}` did not go on in time")),
                false => {
                    failure(502, format!("the answer of `{url}` broke off: {}", reason(&error)))
                }
            })?;
            let Some(chunk) = chunk else { return Ok(None) };
            self.received = self.received.saturating_add(chunk.len());
            if self.received > self.limit {
                let message = format!("the answer of `{url}` is larger than {} bytes", self.limit);
                return Err(failure(413, message));
            }
            if !chunk.is_empty() {
                return Ok(Some(chunk.into()));
            }
        }
    }
}

#[async_trait]
impl ResponseBody for ReceivedBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.piece(408).await
    }
}

/// A body with the values of secrets hidden, because a server may echo them. The beginning of a
/// value waits for the bytes that decide if it is one.
pub(super) struct SecretFreeBody {
    body: Box<dyn ResponseBody>,
    secrets: Secrets,
    undecided: Vec<u8>,
}

impl SecretFreeBody {
    pub(super) fn new(body: Box<dyn ResponseBody>, secrets: Secrets) -> Self {
        Self { body, secrets, undecided: Vec::new() }
    }
}

#[async_trait]
impl ResponseBody for SecretFreeBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let next = self.body.next().await;
            let Some(piece) = next.map_err(|failure| self.secrets.kept_out_of_failure(failure))?
            else {
                let rest = self.secrets.hide_bytes(std::mem::take(&mut self.undecided));
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            };
            self.undecided.extend(piece);
            let decided = self.secrets.hide_beginning(&mut self.undecided);
            if !decided.is_empty() {
                return Ok(Some(decided));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        time::Duration,
    };

    use super::*;
    use crate::{HttpClient, HttpGate, HttpLimits, HttpRequest, Outbound, Policy};

    /// A test server that hands one connection to `answer` when its request has arrived. Returns
    /// its address.
    fn server(answer: impl FnOnce(TcpStream) + Send + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client comes");
            let _ = stream.read(&mut [0; 4_096]);
            answer(stream);
        });
        address
    }

    fn send(stream: &mut TcpStream, text: &str) {
        // The client may have gone.
        let _ = stream.write_all(text.as_bytes());
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

    fn gate(policy: &str, limits: HttpLimits) -> HttpGate {
        let policy = toml::from_str::<Policy>(policy).expect("the policy is valid");
        HttpGate::new(policy.into(), HttpClient::new(limits).expect("a client can be made"))
    }

    const LOOPBACK: &str = "[shop]\nhttp.allow = [\"http://127.0.0.1:*\"]\n";

    async fn open(gate: &HttpGate, url: &str, headers: &[(&str, &str)]) -> OpenedResponse {
        let headers =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let request = HttpRequest { method: "GET".into(), url: url.into(), headers, body: None };
        gate.open("shop", request).await.expect("it answers")
    }

    async fn code_after(mut response: OpenedResponse, piece: &str) -> u32 {
        let next = response.body.next().await.expect("it arrived");
        assert_eq!(next.as_deref(), Some(piece.as_bytes()));
        response.body.next().await.expect_err("it fails").code
    }

    #[tokio::test]
    async fn a_piece_arrives_before_the_next_one_is_sent() {
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let address = server(move |mut stream| {
            send(&mut stream, CHUNKED);
            for piece in ["4\r\none.\r\n", "4\r\ntwo.\r\n", "0\r\n\r\n"] {
                goes.recv_timeout(Duration::from_secs(30)).expect("the piece before was read");
                send(&mut stream, piece);
            }
        });
        let mut response = open(&gate(LOOPBACK, HttpLimits::default()), &address, &[]).await;
        assert_eq!(response.status, 200);
        for piece in [Some("one."), Some("two."), None] {
            go.send(()).expect("the server waits");
            let next = response.body.next().await.expect("it goes on");
            assert_eq!(next.as_deref(), piece.map(str::as_bytes));
        }
    }

    #[tokio::test]
    async fn a_secret_that_is_echoed_in_two_pieces_is_hidden() {
        let address = server(move |mut stream| {
            send(&mut stream, CHUNKED);
            send(&mut stream, "9\r\nyou: long\r\n");
            std::thread::sleep(Duration::from_millis(50));
            send(&mut stream, "a\r\n-enough, y\r\n0\r\n\r\n");
        });
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "long-enough").expect("it is written");
        let secret = format!("secrets.PAY = {{ file = \"{}\" }}", file.path().display());
        let gate = gate(&format!("{LOOPBACK}{secret}"), HttpLimits::default());
        let mut response = open(&gate, &address, &[("authorization", "{secret:PAY}")]).await;
        let mut body = Vec::new();
        while let Some(piece) = response.body.next().await.expect("it goes on") {
            body.extend(piece);
        }
        assert_eq!(String::from_utf8_lossy(&body), "you: {secret:PAY}, y");
    }

    #[tokio::test]
    async fn a_refused_address_is_not_opened() {
        let gate = gate("[shop]\nhttp.allow = []", HttpLimits::default());
        let request = HttpRequest {
            method: "GET".into(),
            url: "http://127.0.0.1:9/".into(),
            headers: Vec::new(),
            body: None,
        };
        let refused = gate.open("shop", request).await.err().expect("it is refused");
        assert_eq!(refused.code, 403, "{}", refused.message);
    }

    #[tokio::test]
    async fn a_body_ends_with_the_reason_if_it_is_large_breaks_or_is_silent() {
        let limits = |timeout_ms| HttpLimits {
            timeout: Duration::from_millis(timeout_ms),
            response_bytes: 6,
            ..HttpLimits::default()
        };
        let (patient, hasty) = (gate(LOOPBACK, limits(30_000)), gate(LOOPBACK, limits(300)));

        let large = server(|mut stream| {
            send(&mut stream, &format!("{CHUNKED}4\r\none.\r\n"));
            std::thread::sleep(Duration::from_millis(50));
            send(&mut stream, "4\r\ntwo.\r\n");
            std::thread::sleep(Duration::from_millis(50));
        });
        assert_eq!(code_after(open(&patient, &large, &[]).await, "one.").await, 413);

        let broken = server(|mut stream| send(&mut stream, &format!("{CHUNKED}4\r\none.\r\n")));
        assert_eq!(code_after(open(&patient, &broken, &[]).await, "one.").await, 502);

        let (done, waits) = std::sync::mpsc::channel::<()>();
        let silent = server(move |mut stream| {
            send(&mut stream, &format!("{CHUNKED}4\r\none.\r\n"));
            let _ = waits.recv();
        });
        assert_eq!(code_after(open(&hasty, &silent, &[]).await, "one.").await, 408);
        drop(done);
    }

    #[tokio::test]
    async fn a_body_may_take_longer_than_the_limit_of_a_request() {
        let slow = server(|mut stream| {
            send(&mut stream, CHUNKED);
            for piece in ["1\r\na\r\n", "1\r\nb\r\n", "1\r\nc\r\n", "0\r\n\r\n"] {
                std::thread::sleep(Duration::from_millis(400));
                send(&mut stream, piece);
            }
        });
        let limits = HttpLimits { timeout: Duration::from_secs(1), ..HttpLimits::default() };
        let mut response = open(&gate(LOOPBACK, limits), &slow, &[]).await;
        for piece in [Some("a"), Some("b"), Some("c"), None] {
            let next = response.body.next().await.expect("it goes on");
            assert_eq!(next.as_deref(), piece.map(str::as_bytes));
        }
    }
}
